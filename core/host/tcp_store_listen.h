#pragma once

// Chooses and opens the listening sockets of a TcpStoreServer (core/host/tcp_store.h). Thread-safe.

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <boost/asio.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/tcp_store.h"

namespace hocket {

/// Returns whether `host` is a name that means nothing but loopback addresses here, so that other
/// hosts know another address by it. False for loopback addresses and for localhost, which mean the
/// same everywhere.
bool is_name_of_loopback(const std::string& host,
                         const std::vector<boost::asio::ip::address>& addresses);

/// Opens the listening sockets that TcpStoreServer::listen() describes, all at one port.
Result<std::vector<boost::asio::ip::tcp::acceptor>> open_tcp_store_listeners(
    boost::asio::io_context& context, const TcpStoreServerOptions& options);

}  // namespace hocket
