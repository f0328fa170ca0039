#pragma once

// One HTTP/1.1 connection to the daemon, for jobs and for the command line. Every call ends by its
// deadline, whatever the network, the daemon and the name resolver do; none throws. A client
// belongs to one thread; only end_by() may be called from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/link/daemon_access.h"
#include "core/base/result.h"

namespace hocket {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_after_ns(std::int64_t timeout_ns);

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  std::string body = {};  ///< has the type content_type; empty: no body
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpResponse {
  int status = 0;
  std::string content_type = {}, etag = {};
  std::string body = {};
};

/// Returns the JSON object of a 2xx response. Otherwise returns an error with the daemon's message:
/// not_found for 404; invalid_argument for the other 4xx except 408 and 429; unavailable for all
/// else, including responses that are not the daemon's.
Result<nlohmann::json> read_answer(const HttpResponse& response);

class HttpClient {
 public:
  static constexpr std::size_t kMaxBodyBytes = 4 << 20;
  static constexpr std::uint32_t kMaxHeaderBytes = 16 << 10;

  explicit HttpClient(DaemonAccess daemon);
  ~HttpClient();

  /// Sends a request and returns the response. Reuses the connection of the previous request if it
  /// is still open. If that connection turns out to be closed, the request is sent again, so the
  /// request must be idempotent. Errors: unavailable, timed_out, or interrupted by end_by(); the
  /// message names the daemon.
  Result<HttpResponse> send(const HttpRequest& request, Deadline deadline);

  struct Stream {
    std::function<void()> on_open;  ///< called once the response is 200 and an event stream
    /// Called with received bytes; returns false to end the stream.
    std::function<bool(std::string_view)> on_bytes;
    std::int64_t open_timeout_ns = 5'000'000'000;
    std::int64_t silence_limit_ns = 45'000'000'000;
  };
  /// Receives an event stream until it ends; therefore always returns an error: that of
  /// read_answer() for a response other than 200, timed_out after `silence_limit_ns` without a
  /// byte.
  Error stream(const HttpRequest& request, const Stream& stream);

  /// Returns what messages call the daemon: "daemon http://127.0.0.1:7077".
  const std::string& name() const;

  /// Makes the current call, and all later ones, end by `deadline`. Callable from any thread; the
  /// earliest deadline applies.
  void end_by(Deadline deadline);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace hocket
