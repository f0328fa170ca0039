#pragma once

// Opens listening sockets and restricts their addresses. For the I/O thread.

#include <vector>

#include "core/base/result.h"
#include "daemon/server/asio.h"
#include "daemon/server/server.h"

namespace hocket {

/// Opens the address, or takes over the inherited sockets. Refuses plain text on a non-loopback
/// address.
Result<std::vector<IoAcceptor>> open_listeners(asio::io_context& io, const ServerOptions& options);

}  // namespace hocket
