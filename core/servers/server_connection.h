#pragma once

// A rank's connection to a parameter server: one call at a time, on the caller's thread, except
// shut_down().

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <boost/asio.hpp>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/servers/wire.h"

namespace hocket {

/// The server at the other end, and who connects to it.
struct ServerConnectionOptions {
  std::string name = {};  ///< "parameter server 1 (127.0.0.1:4711)"
  std::string host = {}, port = {};
  int rank = 0, ranks = 1;
  int server = 0, servers = 1;
  std::uint64_t session = 0;  ///< random, the same for all connections of the rank
  std::string secret = {};
  std::int64_t timeout_ns = 0;  ///< of silence
};

class ServerConnection {
 public:
  explicit ServerConnection(const ServerConnectionOptions& options);
  ServerConnection(const ServerConnection&) = delete;

  /// Connects and introduces the rank, within `timeout_ns`. `try_again` is set to whether the
  /// server may just not have started. May be called again after such an error.
  Result<void> connect(std::int64_t timeout_ns, bool& try_again);

  /// After an error the connection may still be used if is_open().
  /// `update`, if not null, follows the request.
  Result<void> push(const server_wire::Request& request, const server_wire::Update* update,
                    std::span<const float> values);
  /// Fills `values` with the sum.
  Result<void> pull(const server_wire::Request& request, std::span<float> values);

  /// Sends an await. What follows on the connection is the end of it.
  Result<void> begin_await(const server_wire::Request& request);
  /// Waits for the server's answer, for `timeout_ns` or until `stop` can be read from: then false,
  /// and the await goes on.
  Result<bool> wait_for_answer(int stop, std::int64_t timeout_ns);
  /// Returns whether the answer has arrived.
  bool has_answer();
  /// Receives the answer: the names of sums, possibly none.
  Result<std::vector<server_wire::SumName>> end_await();

  /// Waits at most `timeout_ns` for the server to answer that it has heard.
  void say_goodbye(std::int64_t timeout_ns);

  bool is_open() const { return socket_.is_open(); }
  /// Ends this connection and the call that uses it, now and later. Any thread.
  void shut_down();

 private:
  using Error_ = boost::system::error_code;
  using Endpoint = boost::asio::ip::tcp::endpoint;

  Error_ open(const Endpoint& endpoint, std::int64_t timeout_ns);
  Result<void> introduce(bool& try_again);
  Result<void> read_refusal(std::uint32_t code, std::uint32_t text_bytes);
  Error break_off(const Error_& error, std::int64_t timeout_ns);
  Result<void> read_reply();
  Error_ wait_for_socket(short events, std::int64_t timeout_ns);
  Error_ read(void* into, std::size_t bytes, std::int64_t timeout_ns);
  Error_ write(const void* head, std::size_t head_bytes, std::span<const float> values);
  Error lost(const Error_& error, std::int64_t timeout_ns) const;
  Error strange() const;
  void close();

  const ServerConnectionOptions options_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::socket socket_{context_};
  std::mutex mutex_;
  // Guarded by mutex_, so that shut_down() never uses a descriptor that is closed:
  int handle_ = -1;
  bool is_shut_down_ = false;
};

}  // namespace hocket
