#pragma once

// What the body of a task that runs on a device needs to know: where to put its work. The body runs
// on the host, and must not wait for the device.
//
//   scheduler.compute({.name = "gelu"}, {read(x), write(y)}, [=] {
//     gelu_kernel<<<blocks, threads, 0, cuda_stream(this_device_task().stream)>>>(…);
//   });

#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/task.h"

namespace hocket {

class DeviceMemory;

struct DeviceTask {
  /// Everything that the task does on the device goes here, or into what this waits for at its end.
  DeviceStream stream;
  /// The number of the compute stream, from 0: for what each stream has one of, as a workspace.
  std::uint32_t lane = 0;
  /// Of the data that was added to it; never null in a task.
  const DeviceMemory* memory = nullptr;
};

namespace device_task {
inline thread_local const DeviceTask* running = nullptr;
}

/// The task whose body this thread runs.
inline const DeviceTask& this_device_task() {
  HOCKET_CHECK(device_task::running, "no device task runs on this thread");
  return *device_task::running;
}

/// `task` runs on this thread while this lives; tasks may be nested.
class RunningDeviceTask {
 public:
  explicit RunningDeviceTask(const DeviceTask& task)
      : outer_(std::exchange(device_task::running, &task)) {}
  ~RunningDeviceTask() { device_task::running = outer_; }
  RunningDeviceTask(const RunningDeviceTask&) = delete;
  RunningDeviceTask& operator=(const RunningDeviceTask&) = delete;

 private:
  const DeviceTask* const outer_;
};

}  // namespace hocket
