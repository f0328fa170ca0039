#pragma once

// One connection to the daemon over HTTP/1.1, for jobs and for the command line. Every call ends by
// its deadline, whatever the network, the daemon and the resolver of names do, and none throws.
// A client belongs to one thread, except end_by().

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "tuner/client/link/daemon_access.h"

namespace hocket {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_after_ns(std::int64_t timeout_ns);

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  std::string body = {};  ///< JSON; "": none
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpResponse {
  int status = 0;
  std::string content_type = {}, etag = {};
  std::string body = {};
};

/// The object that a 2xx answer holds. Else the error that the daemon states, not_found for 404,
/// invalid_argument for the other 4xx but 408 and 429, unavailable for the rest and for what is not
/// the daemon's.
Result<nlohmann::json> read_answer(const HttpResponse& response);

class HttpClient {
 public:
  static constexpr std::size_t kMaxBodyBytes = 4 << 20;
  static constexpr std::uint32_t kMaxHeaderBytes = 16 << 10;

  explicit HttpClient(DaemonAccess daemon);
  ~HttpClient();

  /// Sends a request and reads the answer, on the connection of the last one where that is still
  /// open. A request that found it closed is sent again, so it must be harmless twice. unavailable,
  /// timed_out, or interrupted by end_by(); the message names the daemon.
  Result<HttpResponse> send(const HttpRequest& request, Deadline deadline);

  struct Stream {
    std::function<void()> on_open;  ///< the answer is 200 and an event stream
    /// False ends the stream.
    std::function<bool(std::string_view)> on_bytes;
    std::int64_t open_timeout_ns = 5'000'000'000;
    std::int64_t silence_limit_ns = 45'000'000'000;
  };
  /// Gets a stream of events until it ends, which is why this always gives an error: that of
  /// read_answer() for an answer other than 200, timed_out after `silence_limit_ns` without a byte.
  Error stream(const HttpRequest& request, const Stream& stream);

  /// Makes the call under way, and all later ones, end by `deadline`. From any thread; the earliest
  /// one counts.
  void end_by(Deadline deadline);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace hocket
