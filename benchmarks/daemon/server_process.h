#pragma once

// The servers that the load programs measure, each as a process of its own: hocket's daemon over a
// store on disk, and a bare server that does the least that could be called serving. For one
// thread.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tuner/client/link/http_client.h"

namespace hocket {

enum class ServerKind { hocket, bare };

const char* to_string(ServerKind kind);

inline constexpr std::size_t kBodyBytes = 600;

/// Both answer a GET with about kBodyBytes, or with 304 when it carries If-None-Match: etag(), and
/// stream events.
class ServerProcess {
 public:
  explicit ServerProcess(ServerKind kind);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  std::uint16_t port() const { return port_; }
  /// Of the GET, and of the stream.
  const std::string& target() const { return target_; }
  const std::string& watch_target() const { return watch_target_; }
  /// Of the first version.
  std::string etag() const { return "\"1\""; }

  /// Sends an event of about kBodyBytes to all watchers. In it the text kPublishedAt is followed by
  /// the time of publishing in nanoseconds of the monotonic clock. To the daemon it is a push, so
  /// the time includes that of the store.
  void publish();
  static constexpr const char* kPublishedAt = "\"published_ns\":";

  /// The largest memory that the process has had resident.
  double peak_memory_mb() const;

 private:
  pid_t process_ = -1;
  int commands_ = -1;
  std::uint16_t port_ = 0;
  std::string target_ = "/", watch_target_ = "/watch";
  std::unique_ptr<HttpClient> client_;  ///< of the daemon
};

/// Lets this process, and those it starts, open as many files as the system lets; how many.
std::size_t raise_open_files();

/// Nanoseconds of the clock that all processes share.
std::int64_t monotonic_ns();

}  // namespace hocket
