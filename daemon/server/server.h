#pragma once

// HTTP/1.1 server for a Service: listens, parses within limits, answers, and keeps event streams.
// One I/O thread, which is the thread that calls run(), and a few for Service::handle(), of each
// kind of labour its own.
// HEAD reaches the Service as GET; the server omits the body.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "daemon/http/feed.h"
#include "daemon/http/internal_errors.h"
#include "daemon/http/log.h"
#include "daemon/http/request_origin.h"
#include "daemon/http/service.h"
#include "daemon/server/server_limits.h"

namespace hocket {

struct TlsFiles {
  std::string certificate_file;  ///< PEM: the server's certificate, followed by its chain
  std::string key_file;          ///< PEM, not encrypted
};

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< an IPv4 or IPv6 address
  std::uint16_t port = 7077;          ///< 0 picks a free one
  std::optional<TlsFiles> tls = {};
  /// Further hosts that it answers to (daemon/http/request_origin.h).
  HostNames names = {};
  /// Allows plain text on a non-loopback address; otherwise refused.
  bool insecure = false;
  /// True if the service requires no credentials. Refused on a non-loopback address unless
  /// `insecure`.
  bool is_open = false;
  /// Inherited listening TCP sockets (daemon/server/systemd.h), used instead of `address` and
  /// `port`. The server owns them.
  std::vector<int> listeners = {};
  int worker_threads = 2;
  int search_threads = 2;  ///< for RequestLabour::search
  int browse_threads = 2;  ///< for RequestLabour::browse
  ServerLimits limits = {};
  std::int64_t ping_interval_ns = 15'000'000'000;  ///< interval of comment lines in streams
  /// Time from stop() until every connection is closed.
  std::int64_t grace_ns = 10'000'000'000;
  /// SO_SNDBUF of accepted connections; empty: the system's default.
  std::optional<int> send_buffer_bytes = {};
};

/// Counts since the start, and numbers of currently open objects.
struct ServerCounts {
  std::uint64_t responses_by_class[6] = {};  ///< [2]: status 200 to 299
  std::uint64_t connections = 0;             ///< accepted
  std::uint64_t refused_connections = 0;     ///< over the limit
  std::uint64_t received_bytes = 0;          ///< HTTP bytes, without TLS overhead
  std::uint64_t sent_bytes = 0;
  std::uint64_t events = 0;  ///< written to streams
  std::uint64_t rate_limited = 0;
  std::uint64_t timeouts = 0;   ///< incomplete requests, and clients that did not read
  std::uint64_t malformed = 0;  ///< requests the server itself answered with 400, 413 or 431
  std::uint64_t foreign = 0;    ///< requests refused with 403, 415 or 421: not for this daemon
  std::uint64_t failed_handshakes = 0;
  std::uint64_t open_connections = 0;
  std::uint64_t open_streams = 0;
};

class Server {
 public:
  /// Starts listening; connections made before run() wait. Requires that `service` and `feed`
  /// outlive the server. The server is the feed's listener while run() runs. Exceptions of the
  /// service go to `errors` and are answered with 500.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, Service& service, Feed& feed,
                                                Log log, InternalErrors errors = InternalErrors());
  virtual ~Server() = default;

  /// Returns the port listened on, the first of several.
  virtual std::uint16_t port() const = 0;

  /// Serves until stop(). Call at most once. Notifies systemd when it is ready and when it stops.
  virtual void run() = 0;

  /// Shuts down: accepts connections that are already established and no new ones (inherited
  /// sockets keep those for the next process), answers requests that have begun, answers those that
  /// wait for a topic immediately, and ends streams; then run() returns. After `grace_ns` it closes
  /// all connections, but it always waits for Service::handle() to return. Thread-safe; may be
  /// called repeatedly.
  virtual void stop() = 0;

  /// Makes SIGINT and SIGTERM call stop(); a second signal ends the grace period. Call before
  /// run().
  virtual void stop_on_signals() = 0;

  /// Thread-safe.
  virtual ServerCounts counts() const = 0;
};

}  // namespace hocket
