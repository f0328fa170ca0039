#pragma once

// The seam to the two memories that a placed step computes in (core/placement/step_placement.h): a
// device's, of limited size, and its host's. Data items are those of the scheduler's submitter.
//
// place() is called while no task runs; the copies are the bodies of tasks, which
// order them with everything that uses the data. Implementations:
// core/cuda/executor/placed_memory.h, core/host/emulation/emulated_device.h, and
// tests/core/placement/memory_model.h.

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/placement/step_placement.h"
#include "core/step/task.h"

namespace hocket {

/// Address and home of a data item under a placement.
struct DataAddress {
  DataId data;
  /// Beginning of its range in the device's memory, or kNotOnDevice.
  std::int64_t address_bytes = kNotOnDevice;
  /// Memory that holds its value between two steps.
  PlacementSite home = PlacementSite::device;
  bool operator==(const DataAddress&) const = default;
};

class OffloadMemory {
 public:
  virtual ~OffloadMemory() = default;

  /// Limit of the device's memory.
  virtual std::int64_t device_memory_bytes() const = 0;

  /// Moves the values that outlive a step to their new homes; other values are lost. `data` names
  /// every item that has bytes. Returns unavailable when a copy fails; the memory must not be used
  /// after that.
  virtual Result<void> place(std::span<const DataAddress> data) = 0;

  /// Copies the item to the device's memory, or to the host's. Throws std::exception when the copy
  /// fails.
  virtual void copy_to_device(DataId data) = 0;
  virtual void copy_to_host(DataId data) = 0;

  /// Returns where the device has `values`, which the submitter named for a collective that updates
  /// `data`.
  virtual std::span<float> on_device(DataId data, std::span<float> values) = 0;
};

}  // namespace hocket
