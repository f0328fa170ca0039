#pragma once

// What records a device beside a profile session (ProfileSessionOptions::device): kernels and
// copies, of which the session itself sees only the tasks that they are of. profiler/cupti has one
// for NVIDIA's.

#include <cstdint>

#include "core/step/task.h"

namespace hocket {

struct ProfileResult;

/// `id` was task `task` of step `step`, as a TraceRecord numbers it.
struct NumberedTask {
  TaskId id;
  std::int64_t step = 0, task = 0;

  bool operator==(const NumberedTask&) const = default;
};

/// Called by one thread at a time, whichever; it may not call the session.
class DeviceRecorder {
 public:
  virtual ~DeviceRecorder() = default;

  /// What is handed to the device from here on is recorded, until pause(). In turn with it.
  virtual void resume() = 0;
  virtual void pause() = 0;

  /// After pause(): puts what was recorded since the last call into `result`, which is the
  /// session's of the same span, and counts what was lost. What is not known better stays.
  virtual void add_to(ProfileResult& result) = 0;
};

}  // namespace hocket
