#pragma once

// Listening sockets, and where they may listen. For the thread of input and output.

#include <vector>

#include "core/base/result.h"
#include "tuner/daemon/server/asio.h"
#include "tuner/daemon/server/server.h"

namespace hocket {

/// Opens the address, or takes the inherited sockets. Refuses plain text off loopback.
Result<std::vector<IoAcceptor>> open_listeners(asio::io_context& io, const ServerOptions& options);

}  // namespace hocket
