#pragma once

// The bytes of a connection, plain or over TLS. Models Asio's AsyncReadStream and AsyncWriteStream.
// For the I/O thread.

#include <boost/asio/ssl.hpp>
#include <memory>
#include <utility>

#include "daemon/server/asio.h"

namespace hocket {

class ConnectionStream {
 public:
  using executor_type = IoExecutor;

  /// Plain if `tls` is null. Requires that `tls` outlives the stream.
  ConnectionStream(IoSocket socket, asio::ssl::context* tls) : socket_(std::move(socket)) {
    if (tls != nullptr) tls_ = std::make_unique<asio::ssl::stream<IoSocket&>>(socket_, *tls);
  }

  executor_type get_executor() { return socket_.get_executor(); }
  IoSocket& socket() { return socket_; }
  bool is_tls() const { return tls_ != nullptr; }

  /// Performs the TLS handshake; only for TLS.
  template <class Token>
  auto async_handshake(Token&& token) {
    return tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                : socket_.async_read_some(buffers, std::forward<Token>(token));
  }

  /// Writes as much as the socket takes without waiting, which may be nothing. Over TLS it writes
  /// nothing.
  std::size_t write_at_once(asio::const_buffer bytes, boost::system::error_code& error) {
    if (tls_) return 0;
    if (!socket_.non_blocking()) socket_.non_blocking(true, error);
    const std::size_t written = error ? 0 : socket_.write_some(bytes, error);
    if (error == asio::error::would_block) error = {};
    return written;
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                : socket_.async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  IoSocket socket_;
  std::unique_ptr<asio::ssl::stream<IoSocket&>> tls_;
};

}  // namespace hocket
