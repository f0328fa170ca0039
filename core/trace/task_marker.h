#pragma once

// Tells a profiler of a device which task a thread hands over, so that what then runs on the device
// is known to be that task's. An executor of a device has a TaskMarker, null by default, and makes
// a TaskMark around each task's body and around each part of a collective that it starts. What
// implements this is thread-safe, and costs a load while nothing is profiled.

#include <cstdint>

#include "core/step/task.h"

namespace hocket {

/// In place of a task: a whole step, launched as a graph.
inline constexpr TaskId kWholeStep{~std::uint32_t{0}, ~std::uint32_t{0}};

class TaskMarker {
 public:
  virtual ~TaskMarker() = default;

  /// What this thread launches from here on is of `task`, which step `step` submitted. False when
  /// nobody wants to know; then there is no end_task().
  virtual bool begin_task(std::int64_t step, TaskId task) = 0;
  /// On the thread of the begin_task() that said true. They nest.
  virtual void end_task() = 0;
};

/// Marks a task for as long as it lives. `marker` may be null.
class TaskMark {
 public:
  TaskMark(TaskMarker* marker, std::int64_t step, TaskId task)
      : marker_(marker != nullptr && marker->begin_task(step, task) ? marker : nullptr) {}
  ~TaskMark() {
    if (marker_ != nullptr) marker_->end_task();
  }
  TaskMark(const TaskMark&) = delete;
  TaskMark& operator=(const TaskMark&) = delete;

 private:
  TaskMarker* const marker_;
};

}  // namespace hocket
