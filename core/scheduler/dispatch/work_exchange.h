#pragma once

// Exchanges tasks between the plan and the streams: finished tasks go to the plan, ready tasks to
// streams. A stream that finds work here does not touch the plan, whose data then stay in the cache
// of the submitting thread. Thread-safe.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/base/spin.h"
#include "core/scheduler/executor.h"

namespace hocket {

class WorkExchange {
 public:
  /// Passes `finished` tasks to the plan and takes up to `work.size()` ready ones; returns the
  /// number taken.
  std::size_t exchange(std::span<const TaskId> finished, std::span<ComputeWork> work) {
    if (finished.empty() && ready() == 0) return 0;
    std::lock_guard lock(mutex_);
    finished_.insert(finished_.end(), finished.begin(), finished.end());
    const std::size_t taken = std::min(work.size(), ready_.size() - next_ready_);
    std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_), taken, work.begin());
    next_ready_ += taken;
    count_ready();
    return taken;
  }

  /// Polls for ready tasks `looks` times and yields now and then to other threads of this core;
  /// takes less time than putting a thread to sleep and waking it. Returns whether there are ready
  /// tasks.
  bool wait_briefly(int looks) const {
    constexpr int kLooksAYield = 64;
    for (int i = 1; i <= looks; ++i) {
      if (ready() > 0) return true;
      i % kLooksAYield == 0 ? std::this_thread::yield() : spin_pause();
    }
    return false;
  }

  /// Moves the finished tasks to `finished`, which must be empty.
  void collect(std::vector<TaskId>& finished) {
    std::lock_guard lock(mutex_);
    finished_.swap(finished);
  }

  /// Returns the number of ready tasks that no stream has taken.
  std::size_t ready() const { return ready_count_.load(std::memory_order_acquire); }

  void offer(std::span<const ComputeWork> work) {
    std::lock_guard lock(mutex_);
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_));
    next_ready_ = 0;
    ready_.insert(ready_.end(), work.begin(), work.end());
    count_ready();
  }

  /// Drops the ready tasks.
  void withdraw() {
    std::lock_guard lock(mutex_);
    ready_.clear();
    next_ready_ = 0;
    count_ready();
  }

 private:
  void count_ready() { ready_count_.store(ready_.size() - next_ready_, std::memory_order_release); }

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<TaskId> finished_;
  std::vector<ComputeWork> ready_;
  std::size_t next_ready_ = 0;

  std::atomic<std::size_t> ready_count_ = 0;
};

}  // namespace hocket
