#pragma once

// The seam to the two memories that a placed step computes in (core/placement/step_placement.h): a
// device's, of limited size, and its host's. Data items are those of the scheduler's submitter.
//
// forget(), add() and place() are called while no task runs; the copies are the bodies of tasks,
// which order them with everything that uses the data; at() and home() may be called by any thread,
// but not beside the first three. Implementations:
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

/// A data item that a placed step may have on the device.
struct OffloadedData {
  std::int64_t bytes = 0;
  void* host = nullptr;  ///< memory of the host for it, which the job owns; null: it is never there
  bool is_kept = false;  ///< has a value between steps; then it has memory of the host
};

class OffloadMemory {
 public:
  virtual ~OffloadMemory() = default;

  /// Moves all values to the host and forgets the data, whose numbers may be given to others.
  /// unavailable when a copy fails.
  virtual Result<void> forget() = 0;
  /// Data that no task accesses need not be added.
  virtual void add(DataId data, const OffloadedData& added) = 0;
  /// Returns where the device has the item; null where it has no place there.
  virtual void* at(DataId data) const = 0;
  /// Returns the memory that holds the item's value between two steps.
  virtual PlacementSite home(DataId data) const = 0;

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
