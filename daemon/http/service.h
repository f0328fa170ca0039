#pragma once

// Interface between the daemon's answers and the transport. A Service handles requests and replies
// as values; a server (daemon/server/server.h) or a test calls it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/http/feed.h"

namespace hocket {

/// A complete HTTP request within the server's limits. Texts are unmodified and may contain any
/// bytes.
struct ServiceRequest {
  std::string method;              ///< "GET"
  std::string target;              ///< "/v1/configs/…?wait=10", still percent-encoded
  std::string authorization = {};  ///< the fields of these names, empty when absent
  std::string if_none_match = {};
  std::string last_event_id = {};
  std::string accept_encoding = {};
  std::string body = {};
  std::string peer = {};  ///< the client's address, for logs
};

struct ServiceResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string etag = {};   ///< including quotes; empty: none
  std::string allow = {};  ///< for status 405
  std::optional<int> retry_after_seconds = {};
  /// Further fields, with constant names.
  std::vector<std::pair<std::string_view, std::string>> fields = {};
  /// Shared, so that a response to many clients is stored once; null: empty.
  std::shared_ptr<const std::string> body = {};
};

/// Defers the reply: the request is handled again when the topic has an event after `seen`, or when
/// `timeout_ns` has passed.
struct AwaitEvent {
  std::string topic;
  std::uint64_t seen = 0;
  std::int64_t timeout_ns = 0;
};

/// A service's hold on an open stream. Its destruction, on any thread, tells the service that the
/// stream has ended.
class StreamHold {
 public:
  virtual ~StreamHold() = default;
  /// Returns whether the server should end the stream. Called on the server's I/O thread.
  virtual bool is_over() const = 0;
};

/// Opens a stream of server-sent events (HTML Living Standard, section 9.2) that ends when the
/// client disconnects, or soon after `hold` is over. It repeatedly sends the newest event after
/// `seen` of each topic. A slow client misses the events in between.
struct EventStream {
  struct Topic {
    std::string name;
    std::uint64_t seen = 0;
    /// Returns whether the client receives an event; empty: it receives all. Thread-safe.
    std::function<bool(const FeedEvent&)> receives = {};
  };
  std::vector<Topic> topics;
  std::shared_ptr<const StreamHold> hold = {};  ///< null: nothing is held
};

using ServiceReply = std::variant<ServiceResponse, AwaitEvent, EventStream>;

/// The time that a kind of request takes to handle. Each kind has threads of its own, so that none
/// waits for another.
enum class RequestLabour {
  brief,   ///< a few calls of the store
  search,  ///< a worker waits for the next setting of a search
  browse,  ///< a person waits for something computed from what is stored
};

class Service {
 public:
  virtual ~Service() = default;

  /// Returns the reply if it can be made from memory within microseconds, a Response or an
  /// EventStream; otherwise nothing, and handle() is called. Called on the server's I/O thread.
  virtual std::optional<ServiceReply> answer_at_once(const ServiceRequest& request) = 0;

  /// Returns which threads handle() runs on. Called on the server's I/O thread.
  virtual RequestLabour labour_of(const ServiceRequest& request) const = 0;

  /// Handles a request; may block on the disk. `is_last` is true after an AwaitEvent timed out; the
  /// reply must then be a final one. Thread-safe, also with answer_at_once().
  virtual ServiceReply handle(const ServiceRequest& request, bool is_last) = 0;
};

}  // namespace hocket
