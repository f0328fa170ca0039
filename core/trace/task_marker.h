#pragma once

// Tells a device profiler which task a thread issues, so that work on the device is attributed to
// that task. A device executor has a TaskMarker, null by default, and creates a TaskMark around
// each task's body and around each part of a collective that it starts. Implementations are
// thread-safe and cost one load while nothing is profiled.

#include <cstdint>

#include "core/step/task.h"

namespace hocket {

/// Stands for a whole step that is launched as a graph.
inline constexpr TaskId kWholeStep{~std::uint32_t{0}, ~std::uint32_t{0}};

class TaskMarker {
 public:
  virtual ~TaskMarker() = default;

  /// Attributes this thread's launches from now on to `task`, which step `step` submitted. Returns
  /// false when nothing is profiled; end_task() must then not be called.
  virtual bool begin_task(std::int64_t step, TaskId task) = 0;
  /// Ends the attribution, on the thread whose begin_task() returned true. Calls nest.
  virtual void end_task() = 0;
};

/// Marks a task for the lifetime of this object. `marker` may be null.
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
