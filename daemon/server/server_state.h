#pragma once

// State shared by a server's connections. For the I/O thread; any thread may read the counters.

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/line_limit.h"
#include "daemon/http/rate_limit.h"
#include "daemon/server/asio.h"
#include "daemon/server/server.h"
#include "daemon/server/topics.h"

namespace hocket {

class HttpConnection;

/// A counter written by one thread.
class ServerCounter {
 public:
  void add(std::uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t amount) { add(-amount); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// The counters behind ServerCounts.
struct ServerCounters {
  ServerCounter responses_by_class[6];
  ServerCounter connections, refused_connections, received_bytes, sent_bytes, events, rate_limited;
  ServerCounter timeouts, malformed, foreign, failed_handshakes, open_connections, open_streams;

  ServerCounts read() const;
};

struct ServerState {
  ServerState(ServerOptions options, Service& service, Feed& feed, Log log, InternalErrors errors);

  /// Returns how long a request of the client has to wait; 0 if it is allowed.
  std::int64_t wait_ns(const asio::ip::address& client);

  asio::thread_pool& threads_for(RequestLabour labour);

  /// Writes a warning about a client, within the bounds of daemon/http/line_limit.h. `peer` is
  /// empty if nobody knows who it was.
  void warn_of(std::string_view message, std::string_view peer, LogField detail);

  /// Returns the current time as an HTTP date.
  const std::string& date();

  const ServerOptions options;
  Service& service;
  const Log log;
  const InternalErrors errors;
  ServerCounters counters;
  asio::io_context io{1};
  asio::thread_pool workers, searching, browsing;
  /// Receives what clients send on streams, which nobody reads.
  std::array<char, 512> discarded = {};
  WatchedTopics topics;
  bool stopping = false;
  std::list<HttpConnection*> connections;
  /// Called when a connection has left `connections`.
  std::function<void()> on_left;

 private:
  std::optional<RateLimit<std::uint64_t>> rate_limit_;
  LineLimit lines_;
  std::time_t dated_ = 0;
  std::string date_;
};

/// Returns the time of the monotonic clock.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace hocket
