#include "daemon/server/listener.h"

#include <string>

namespace hocket {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

std::string text(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

Result<void> check_reach(const tcp::endpoint& endpoint, const ServerOptions& options) {
  if (endpoint.address().is_loopback() || options.insecure) return {};
  if (options.is_open) {
    return failure(ErrorCode::invalid_argument,
                   "refuse to listen on " + text(endpoint) +
                       " without tokens, where everyone could change every configuration: leave "
                       "out --no-tokens, listen on 127.0.0.1, or allow it with --insecure");
  }
  if (options.tls) return {};
  return failure(ErrorCode::invalid_argument,
                 "refuse to listen on " + text(endpoint) +
                     " in plain text, which other hosts could read and change: give a certificate "
                     "and a key, listen on 127.0.0.1, or allow it with --insecure");
}

Result<IoAcceptor> open(asio::io_context& io, const tcp::endpoint& endpoint) {
  IoAcceptor acceptor(io);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return failure(ErrorCode::unavailable, "cannot listen on " + text(endpoint) + ": " +
                                               error.message() +
                                               "; choose another by `hocket serve --listen "
                                               "ADDRESS:PORT` or `hocket web --port PORT`");
  }
  return acceptor;
}

Result<IoAcceptor> inherit(asio::io_context& io, int descriptor) {
  IoAcceptor acceptor(io);
  error_code error;
  // The protocol is only used to query the kernel in accept(); v4 or v6 works for both.
  acceptor.assign(tcp::v6(), descriptor, error);
  if (error) {
    return failure(ErrorCode::unavailable, "cannot take the inherited socket " +
                                               std::to_string(descriptor) + ": " + error.message());
  }
  return acceptor;
}

Result<std::vector<IoAcceptor>> take_inherited(asio::io_context& io, const ServerOptions& options) {
  std::vector<IoAcceptor> acceptors;
  for (const int descriptor : options.listeners) {
    auto acceptor = inherit(io, descriptor);
    HOCKET_TRY(acceptor);
    acceptors.push_back(std::move(*acceptor));
  }
  for (const IoAcceptor& acceptor : acceptors) {
    error_code error;
    const auto endpoint = acceptor.local_endpoint(error);
    if (error) return failure(ErrorCode::unavailable, "an inherited socket: " + error.message());
    HOCKET_TRY(check_reach(endpoint, options));
  }
  return acceptors;
}

}  // namespace

Result<std::vector<IoAcceptor>> open_listeners(asio::io_context& io, const ServerOptions& options) {
  if (!options.listeners.empty()) return take_inherited(io, options);
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    return failure(ErrorCode::invalid_argument,
                   "'" + options.address +
                       "' is no IPv4 or IPv6 address to listen on, such as "
                       "127.0.0.1, 0.0.0.0 or ::1");
  }
  const tcp::endpoint endpoint(address, options.port);
  HOCKET_TRY(check_reach(endpoint, options));
  auto acceptor = open(io, endpoint);
  HOCKET_TRY(acceptor);
  std::vector<IoAcceptor> acceptors;
  acceptors.push_back(std::move(*acceptor));
  return acceptors;
}

}  // namespace hocket
