#pragma once

// The device's memory of data that lives within a step, such as activations: allocated in the order
// of a stream by the first task that accesses it, which must write it, and freed after the last.
// The caller counts beforehand how many tasks of a step access it; a step is over for a piece of
// data when that many tasks have accessed it.
//
// add() may be called from any thread, and before a task that accesses the data is submitted;
// everything else is for the executor's thread and the bodies that it runs.

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
  /// `driver` must outlive the memory. Data whose step did not come to its end is not freed.
  explicit DeviceMemory(DeviceDriver& driver) : driver_(driver) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// `data` takes `bytes` from the first of `uses` (at least 1) tasks to the last, again and again.
  void add(DataId data, std::size_t bytes, std::uint32_t uses);

  /// Forgets what was added, while none of it is in use: other data takes its numbers.
  void clear();

  /// Whether it was added.
  bool has(DataId data) const;
  /// Where `data` is; for the body of a task that accesses it.
  void* at(DataId data) const;

  /// Before a task with these accesses: allocates in `stream` what it is the first to access.
  /// invalid_argument when it is the first and reads.
  Result<void> begin_task(std::span<const Access> accesses, DeviceStream stream);
  /// After it: gives the data that it was the last to access, to be freed by free().
  void end_task(std::span<const Access> accesses, std::vector<DataId>& last_used);
  /// `stream` has come after all uses.
  Result<void> free(DataId data, DeviceStream stream);

 private:
  struct Temporary {
    std::size_t bytes = 0;
    std::uint32_t uses = 0, used = 0;  // uses is 0 for data that was not added
    void* memory = nullptr;
  };

  /// Null for data that was not added.
  Temporary* find(DataId data);
  const Temporary* find(DataId data) const;

  DeviceDriver& driver_;
  mutable std::mutex mutex_;
  std::vector<Temporary> temporaries_;  // guarded by mutex_; by data
};

}  // namespace hocket
