#pragma once

// HTTP/1.1 for a Service: listens, parses within limits, answers, keeps streams of events. One
// thread of input and output, the one that calls run(), and a few workers for Service::handle().
// HEAD reaches the Service as GET; the server leaves out the body.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/daemon/http/feed.h"
#include "tuner/daemon/http/log.h"
#include "tuner/daemon/http/service.h"

namespace hocket {

struct TlsFiles {
  std::string certificate_file;  ///< PEM: the server's certificate, then those that signed it
  std::string key_file;          ///< PEM, not encrypted
};

struct ServerLimits {
  std::size_t header_bytes = 16 << 10;  ///< of the request line and all fields; more: 431
  std::size_t body_bytes = 1 << 20;     ///< more: 413
  std::size_t connections = 16'384;     ///< one more is told 503
  /// A request, or a TLS handshake, that is not whole by then: 408.
  std::int64_t request_ns = 10'000'000'000;
  /// A connection between two requests is closed after that.
  std::int64_t idle_ns = 75'000'000'000;
  /// A client that has not read a response or an event by then is dropped.
  std::int64_t write_ns = 30'000'000'000;
  /// Requests of one client address in the long run; 0: as many as it likes. More: 429.
  double requests_per_second = 0;
  double burst = 100;  ///< requests that may come at once
};

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< an IPv4 or IPv6 address
  std::uint16_t port = 7077;          ///< 0 picks a free one
  std::optional<TlsFiles> tls = {};
  /// Plain text on an address that is not this host's own; else refused.
  bool insecure = false;
  /// The service asks nobody who he is: refused on such an address, too, unless `insecure`.
  bool is_open = false;
  /// Listening TCP sockets that were inherited (tuner/daemon/server/systemd.h), in place of
  /// `address` and `port`. The server owns them.
  std::vector<int> listeners = {};
  int worker_threads = 2;
  ServerLimits limits = {};
  std::int64_t ping_interval_ns = 15'000'000'000;  ///< of comments in streams
  /// From stop() on: then every connection is closed.
  std::int64_t grace_ns = 10'000'000'000;
  /// SO_SNDBUF of accepted connections; empty: the system's.
  std::optional<int> send_buffer_bytes = {};
};

/// What has happened since the start, and what is open now.
struct ServerCounts {
  std::uint64_t responses_by_class[6] = {};  ///< [2]: of status 200 to 299
  std::uint64_t connections = 0;             ///< accepted
  std::uint64_t refused_connections = 0;     ///< over the limit
  std::uint64_t received_bytes = 0;          ///< of HTTP, not of TLS
  std::uint64_t sent_bytes = 0;
  std::uint64_t events = 0;  ///< written to streams
  std::uint64_t rate_limited = 0;
  std::uint64_t timeouts = 0;   ///< requests not whole in time, and clients that did not read
  std::uint64_t malformed = 0;  ///< requests answered 400, 413 or 431 by the server itself
  std::uint64_t failed_handshakes = 0;
  std::uint64_t open_connections = 0;
  std::uint64_t open_streams = 0;
};

class Server {
 public:
  /// Listens already: who connects before run() waits. `service` and `feed` outlive the server,
  /// which is the feed's listener from run() to its end.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, Service& service, Feed& feed,
                                                Log log);
  virtual ~Server() = default;

  /// The port listened on, the first of several.
  virtual std::uint16_t port() const = 0;

  /// Serves until stop(), at most once. Tells systemd when it is ready and when it stops.
  virtual void run() = 0;

  /// Accepts what is connected already, and no more (inherited sockets keep it for the next
  /// process); answers the requests that have begun, those that wait for a topic at once; ends
  /// streams; then run() returns. After `grace_ns` it closes connections, but it always waits for
  /// Service::handle() to return. Thread-safe; harmless twice.
  virtual void stop() = 0;

  /// SIGINT and SIGTERM call stop(), from here on; a second one ends the grace. Before run().
  virtual void stop_on_signals() = 0;

  /// Thread-safe.
  virtual ServerCounts counts() const = 0;
};

}  // namespace hocket
