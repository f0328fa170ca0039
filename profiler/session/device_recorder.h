#pragma once

// The interface of a recorder that traces a device beside a profile session
// (ProfileSessionOptions::device): its kernels and copies, where the session itself sees only
// tasks. profiler/cupti implements it for NVIDIA GPUs. Called by one thread at a time.

#include <cstdint>

#include "core/step/task.h"

namespace hocket {

struct ProfileResult;

/// A task's id and its number: task `task` of step `step`, as TraceRecord numbers it.
struct NumberedTask {
  TaskId id;
  std::int64_t step = 0, task = 0;

  bool operator==(const NumberedTask&) const = default;
};

/// Called by one thread at a time, which may be any thread. Must not call the session.
class DeviceRecorder {
 public:
  virtual ~DeviceRecorder() = default;

  /// Starts to record work that is handed to the device from now on, until pause(). Calls of the
  /// two alternate.
  virtual void resume() = 0;
  virtual void pause() = 0;

  /// Adds the records since the last call to `result`, the session's result for the same span, and
  /// counts those lost. Keeps values that the device does not know better. Requires pause() before.
  virtual void add_to(ProfileResult& result) = 0;
};

}  // namespace hocket
