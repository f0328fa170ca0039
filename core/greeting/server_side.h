#pragma once

// The server's side of the greeting of core/greeting/messages.h, over a socket of Asio. Each call
// belongs to one thread at a time.

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <boost/asio.hpp>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/greeting/messages.h"

namespace hocket::greeting {

/// Lets a client in or refuses it. `details` receives what the protocol adds about the client;
/// then, if the client has the secret (empty: none), `admit` decides. Returns whether it is let in.
/// A client that is not is told why, and has ended the connection on return. Throws
/// boost::system::system_error if the client speaks another protocol or the connection breaks. The
/// caller limits the time by closing the socket.
boost::asio::awaitable<bool> greet_client(boost::asio::ip::tcp::socket& socket,
                                          const Protocol& protocol, const std::string& secret,
                                          boost::asio::mutable_buffer details,
                                          const std::function<Result<void>()>& admit);

}  // namespace hocket::greeting
