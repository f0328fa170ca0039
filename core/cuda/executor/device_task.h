#pragma once

// Tells the body of a device task where to put its work. The body runs on the host, on the
// executor's thread, and must not wait for the device.
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
  /// Stream of all the task's device work. The body may use other streams if this stream waits for
  /// them at the end of the body.
  DeviceStream stream;
  /// Index of the compute stream, from 0, for resources that each stream has one of, such as
  /// workspaces.
  std::uint32_t lane = 0;
  /// Memory of data that lives within a step; never null in a task.
  const DeviceMemory* memory = nullptr;
};

namespace device_task {
inline thread_local const DeviceTask* running = nullptr;
}

/// Returns the task whose body this thread is running.
inline const DeviceTask& this_device_task() {
  HOCKET_CHECK(device_task::running, "no device task runs on this thread");
  return *device_task::running;
}

/// Marks `task` as running on this thread during its own lifetime. Tasks may be nested.
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
