#pragma once

// Device memory of data that lives within a step, such as activations. The first task of a step
// that accesses the data must write it, and the memory is allocated in the order of that task's
// stream; it is freed after the last. The caller counts beforehand the tasks in a step that access
// the data; the step ends for a piece of data when that many tasks have accessed it.
//
// add() may be called by any thread, before a task that accesses the data is submitted. Everything
// else is for the executor's thread and the bodies it runs.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/task.h"

namespace hocket {

class DeviceMemory {
 public:
  /// `driver` must outlive the memory. Data of a step that did not run to its end is not freed.
  explicit DeviceMemory(DeviceDriver& driver) : driver_(driver) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Adds `data` of size `bytes`, allocated in every step from the first to the last of its `uses`
  /// (≥ 1) tasks.
  void add(DataId data, std::size_t bytes, std::uint32_t uses);

  /// Forgets all added data, so that other data can take its numbers. None of it may be in use.
  void clear();

  /// Returns whether `data` was added.
  bool has(DataId data) const;
  /// Returns the address of `data`. Call it only in the body of a task that accesses `data`.
  void* at(DataId data) const;

  /// Call it before a task with these accesses: allocates in `stream` the data that the task is the
  /// first to access. Returns invalid_argument when such an access reads.
  Result<void> begin_task(std::span<const Access> accesses, DeviceStream stream);
  /// Call it after the task: replaces `last_used` by the data that the task was the last to access.
  /// The caller frees that data with free().
  void end_task(std::span<const Access> accesses, std::vector<DataId>& last_used);
  /// Frees `data` in `stream`, which must be ordered after all its uses.
  Result<void> free(DataId data, DeviceStream stream);

 private:
  struct Temporary {
    std::size_t bytes = 0;
    // `uses` is 0 for data that was not added
    std::uint32_t uses = 0, used = 0;
    void* memory = nullptr;
  };

  /// Returns null for data that was not added.
  Temporary* find(DataId data);
  const Temporary* find(DataId data) const;

  DeviceDriver& driver_;
  mutable std::mutex mutex_;
  std::vector<Temporary> temporaries_;  // guarded by mutex_; by data
};

}  // namespace hocket
