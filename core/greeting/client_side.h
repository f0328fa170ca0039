#pragma once

// The client's side of the greeting of core/greeting/messages.h, over any connection. Each call
// belongs to one thread.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/greeting/messages.h"

namespace hocket::greeting {

/// A client's connection. Its functions return an error, or throw, if not all bytes are moved, and
/// limit the time that they take.
struct Channel {
  std::function<Result<void>(void* into, std::size_t bytes)> read;
  std::function<Result<void>(const void* from, std::size_t bytes)> write;
};

/// Proves that the client has `secret` (empty: none), and expects the same of the server, which
/// errors call `peer`. `details` is what the protocol adds about the client. `try_again` is set to
/// whether the server may let the client in later.
Result<void> greet_server(const Channel& channel, const Protocol& protocol,
                          const std::string& secret, const std::string& peer,
                          std::string_view details, bool& try_again);

}  // namespace hocket::greeting
