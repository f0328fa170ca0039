#include "core/host/tcp_store_listen.h"

#include <algorithm>

#include "core/greeting/rendezvous_secret.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Acceptors = std::vector<tcp::acceptor>;

std::string port_text(const TcpStoreServerOptions& options) {
  return "port " + std::to_string(options.port) + " of " + options.host;
}

error_code open_listener(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    acceptor.set_option(asio::ip::v6_only(true), error);  // IPv4 has a socket of its own
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

/// Listens at those of `addresses` that this host has.
Result<Acceptors> open_listeners(asio::io_context& context,
                                 const std::vector<asio::ip::address>& addresses,
                                 const TcpStoreServerOptions& options) {
  Acceptors acceptors;
  std::uint16_t port = options.port;
  for (const auto& address : addresses) {
    tcp::acceptor acceptor(context);
    const error_code error = open_listener(acceptor, {address, port});
    if (error == boost::system::errc::address_not_available ||
        error == asio::error::address_family_not_supported) {
      continue;
    }
    if (error) {
      return failure(ErrorCode::unavailable,
                     "cannot listen on " + port_text(options) + ": " + error.message());
    }
    port = acceptor.local_endpoint().port();
    acceptors.push_back(std::move(acceptor));
  }
  return acceptors;
}

/// Every address of this host, of the families of `addresses`.
std::vector<asio::ip::address> every_address(const std::vector<asio::ip::address>& addresses) {
  std::vector<asio::ip::address> result;
  if (std::ranges::any_of(addresses, &asio::ip::address::is_v4)) {
    result.emplace_back(asio::ip::address_v4::any());
  }
  if (std::ranges::any_of(addresses, &asio::ip::address::is_v6)) {
    result.emplace_back(asio::ip::address_v6::any());
  }
  return result;
}

}  // namespace

bool is_name_of_loopback(const std::string& host, const std::vector<asio::ip::address>& addresses) {
  error_code is_a_name;
  static_cast<void>(asio::ip::make_address(host, is_a_name));
  return is_a_name && host != "localhost" &&
         std::ranges::all_of(addresses, &asio::ip::address::is_loopback);
}

Result<Acceptors> open_tcp_store_listeners(asio::io_context& context,
                                           const TcpStoreServerOptions& options) {
  error_code error;
  const auto found = tcp::resolver(context).resolve(options.host, "", error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "cannot find the address of " + options.host + ": " + error.message());
  }
  std::vector<asio::ip::address> addresses;
  for (const auto& entry : found) {
    const auto address = entry.endpoint().address();
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  std::string why = "rank 0's host has no such address";
  if (options.local_clients || !is_name_of_loopback(options.host, addresses)) {
    auto acceptors = open_listeners(context, addresses, options);
    if (!acceptors || !acceptors->empty()) return acceptors;
  } else {
    why = options.host + " means " + addresses.front().to_string() +
          " there, which other hosts do not reach";
  }
  if (options.secret.empty()) {
    return failure(ErrorCode::unavailable,
                   "cannot listen on " + port_text(options) + ": " + why +
                       "; name an address of that host, or set " + kRendezvousSecretVariable +
                       " to the same text on every rank to listen on all of its addresses");
  }
  return open_listeners(context, every_address(addresses), options);
}

}  // namespace hocket
