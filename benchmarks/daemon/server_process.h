#pragma once

// The servers that the load programs measure, each as a process of its own: hocket's with a service
// that answers from memory, and a bare one that does the least that could be called serving. For
// one thread.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hocket {

enum class ServerKind { hocket, bare };

const char* to_string(ServerKind kind);

inline constexpr std::size_t kBodyBytes = 600;

/// Both answer GET / with kBodyBytes, or with 304 when it carries If-None-Match, and stream events
/// to GET /watch.
class ServerProcess {
 public:
  explicit ServerProcess(ServerKind kind);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  std::uint16_t port() const { return port_; }

  /// Sends an event of kBodyBytes to all watchers, whose data begins with the time of publishing
  /// in nanoseconds of the monotonic clock.
  void publish();

  /// The largest memory that the process has had resident.
  double peak_memory_mb() const;

 private:
  pid_t process_ = -1;
  int commands_ = -1;
  std::uint16_t port_ = 0;
};

/// Lets this process, and those it starts, open as many files as the system lets; how many.
std::size_t raise_open_files();

/// Nanoseconds of the clock that all processes share.
std::int64_t monotonic_ns();

}  // namespace hocket
