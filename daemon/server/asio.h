#pragma once

// Boost.Asio as the daemon uses it: one I/O context, with a concrete executor type to avoid virtual
// calls, and coroutines that return errors as values.

#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include <boost/asio.hpp>

namespace hocket {

namespace asio = boost::asio;

using IoExecutor = asio::io_context::executor_type;
using IoSocket = asio::basic_stream_socket<asio::ip::tcp, IoExecutor>;
using IoAcceptor = asio::basic_socket_acceptor<asio::ip::tcp, IoExecutor>;
using IoTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, IoExecutor>;
template <class T>
using IoTask = asio::awaitable<T, IoExecutor>;

/// `co_await x.async_read_some(buffer, into(error))`
inline auto into(boost::system::error_code& error) {
  return asio::redirect_error(asio::use_awaitable_t<IoExecutor>(), error);
}

}  // namespace hocket
