#pragma once

// A clock that leaves out the time in which the process did not run: a step is counted as at most
// `max_step_ns`. After SIGSTOP and SIGCONT no time limit has passed before the messages that wait
// in the sockets have been read. Not synchronized.

#include <algorithm>
#include <cstdint>

namespace hocket::nccl {

class RunningTime {
 public:
  explicit RunningTime(std::int64_t max_step_ns) : max_step_ns_(max_step_ns) {}

  /// Moves to `now_ns` of a clock that never goes back.
  void advance(std::int64_t now_ns) {
    if (has_begun_) running_ns_ += std::clamp<std::int64_t>(now_ns - last_ns_, 0, max_step_ns_);
    has_begun_ = true;
    last_ns_ = now_ns;
  }

  std::int64_t now_ns() const { return running_ns_; }

 private:
  std::int64_t max_step_ns_;
  std::int64_t running_ns_ = 0;
  std::int64_t last_ns_ = 0;
  bool has_begun_ = false;
};

}  // namespace hocket::nccl
