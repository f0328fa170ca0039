#pragma once

// The seam between what the daemon answers and how it travels. A Service knows requests and replies
// as values; a server (tuner/daemon/server/server.h) or a test brings them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tuner/daemon/http/feed.h"

namespace hocket {

/// An HTTP request, whole and within the server's limits. Texts are as they came: any bytes.
struct Request {
  std::string method;              ///< "GET"
  std::string target;              ///< "/v1/configs/…?wait=10", still percent-encoded
  std::string authorization = {};  ///< the fields of these names, empty when absent
  std::string if_none_match = {};
  std::string last_event_id = {};
  std::string body = {};
  std::string peer = {};  ///< the client's address, for logs
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string etag = {};   ///< with its quotes; empty: none
  std::string allow = {};  ///< of status 405
  std::optional<int> retry_after_seconds = {};
  /// Shared, so that an answer to many is kept once; null: empty.
  std::shared_ptr<const std::string> body = {};
};

/// Answer later: handle the request again once the topic has moved on from `seen`, or when
/// `timeout_ns` has passed.
struct Await {
  std::string topic;
  std::uint64_t seen = 0;
  std::int64_t timeout_ns = 0;
};

/// Server-sent events (HTML Living Standard, section 9.2) until the client leaves: of each topic
/// the newest event after `seen`, again and again. A client that reads slowly misses those between.
struct EventStream {
  struct Topic {
    std::string name;
    std::uint64_t seen = 0;
  };
  std::vector<Topic> topics;
  /// Told back in Service::stream_closed.
  std::string subscriber;
};

using Reply = std::variant<Response, Await, EventStream>;

class Service {
 public:
  virtual ~Service() = default;

  /// The answer, when it can be given from memory within microseconds; else nothing, and handle()
  /// is asked. Called by the server's one thread of input and output.
  virtual std::optional<Response> answer_at_once(const Request& request) = 0;

  /// May wait for a disk. `is_last` after an Await timed out: then it answers. Thread-safe, also
  /// with answer_at_once().
  virtual Reply handle(const Request& request, bool is_last) = 0;

  /// A stream that handle() began has ended. Thread-safe.
  virtual void stream_closed(const std::string& subscriber) = 0;
};

}  // namespace hocket
