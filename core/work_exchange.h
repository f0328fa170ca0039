#pragma once

// Between the plan and the streams: finished tasks on their way to the plan, ready tasks on their
// way to streams. A stream that finds work here does not touch the plan, whose data then stays in
// the cache of the thread that submits. Thread-safe.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "core/executor.h"

namespace hocket {

class WorkExchange {
 public:
  /// Leaves `finished` tasks for the plan and takes up to `work.size()` ready ones; returns how
  /// many.
  std::size_t exchange(std::span<const TaskId> finished, std::span<ComputeWork> work) {
    std::lock_guard lock(mutex_);
    finished_.insert(finished_.end(), finished.begin(), finished.end());
    const std::size_t taken = std::min(work.size(), ready_.size() - next_ready_);
    std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_), taken, work.begin());
    next_ready_ += taken;
    return taken;
  }

  /// Moves the finished tasks to `finished`, which is empty.
  void collect(std::vector<TaskId>& finished) {
    std::lock_guard lock(mutex_);
    finished_.swap(finished);
  }

  /// Ready tasks that no stream has taken.
  std::size_t ready() const {
    std::lock_guard lock(mutex_);
    return ready_.size() - next_ready_;
  }

  void offer(std::span<const ComputeWork> work) {
    std::lock_guard lock(mutex_);
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_));
    next_ready_ = 0;
    ready_.insert(ready_.end(), work.begin(), work.end());
  }

  /// Drops the ready tasks.
  void withdraw() {
    std::lock_guard lock(mutex_);
    ready_.clear();
    next_ready_ = 0;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<TaskId> finished_;
  std::vector<ComputeWork> ready_;
  std::size_t next_ready_ = 0;
};

}  // namespace hocket
