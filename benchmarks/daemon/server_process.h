#pragma once

// The servers that the load programs measure, each in a process of its own: hocket's daemon with a
// store on disk, and a minimal bare server. For one thread.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client/link/http_client.h"

namespace hocket {

enum class ServerKind { hocket, bare };

const char* to_string(ServerKind kind);

inline constexpr std::size_t kBodyBytes = 600;

/// A server process. Both kinds stream events, and answer a GET with about kBodyBytes, or with 304
/// when it carries If-None-Match: etag().
class ServerProcess {
 public:
  /// The daemon's store is `store`, or else a new file.
  explicit ServerProcess(ServerKind kind, std::string store = {});
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  std::uint16_t port() const { return port_; }
  /// Targets of the GET and of the event stream.
  const std::string& target() const { return target_; }
  const std::string& watch_target() const { return watch_target_; }
  /// Returns the version at the start, and its entity tag.
  std::int64_t version() const { return version_; }
  std::string etag() const { return "\"" + std::to_string(version_) + "\""; }

  /// Sends an event of about kBodyBytes to all watchers. It contains kPublishedAt, followed by the
  /// time of publishing in nanoseconds of the monotonic clock. For the daemon an event is a push,
  /// so the time includes that of the store.
  void publish();
  static constexpr const char* kPublishedAt = "\"published_ns:";

  /// Return the resident memory of the process now, and its largest so far.
  double memory_mb() const { return memory_mb("VmRSS:"); }
  double peak_memory_mb() const { return memory_mb("VmHWM:"); }

 private:
  double memory_mb(std::string_view field) const;

  pid_t process_ = -1;
  int commands_ = -1;
  std::uint16_t port_ = 0;
  std::int64_t version_ = 1;
  std::string target_ = "/", watch_target_ = "/watch";
  std::unique_ptr<HttpClient> client_;  ///< client of the daemon
};

/// Raises the limit on open files of this process and its children to the maximum allowed; returns
/// it.
std::size_t raise_open_files();

/// Returns the time of the monotonic clock that all processes share.
std::int64_t monotonic_ns();

}  // namespace hocket
