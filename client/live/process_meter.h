#pragma once

// The kernel's counts of this process between two steps: its processor time, and for how much of
// the time a TCP connection has bytes queued that cannot leave yet although their receiver has room
// for them. A rank whose link is slow has such bytes while it sends, and the others of its ring
// wait for it. How long bytes are unacknowledged says less, since a receiver that has nothing to
// answer acknowledges late. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace hocket {

struct ProcessUse {
  std::int64_t processor_ns = 0;
  std::int64_t sending_ns = 0;  ///< the step's time by the share of looks that found such bytes
};

class ProcessMeter {
 public:
  /// Starts a thread that looks at the connections about ten times a second, at times that have
  /// nothing to do with the steps. May be called again, by the same thread.
  void start();
  /// Looks at the connections once; takes about a microsecond for each.
  void look();

  /// Ends a step at `now_ns`. Returns the use since the call before; nothing the first time.
  std::optional<ProcessUse> step_ended(std::int64_t now_ns);

 private:
  void look_until(const std::stop_token& stop);
  void find_connections();

  std::mutex mutex_;
  // Guarded by mutex_:
  std::optional<std::int64_t> last_ns_;
  std::int64_t last_processor_ns_ = 0;
  int looks_ = 0;
  double queued_share_ = 0;  ///< share over the latest looks
  /// By descriptor, for how long the connection's receiver has had no room so far.
  std::map<int, std::int64_t> no_room_us_;

  std::jthread thread_;  // last, since it uses the others
};

}  // namespace hocket
