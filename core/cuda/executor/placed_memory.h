#pragma once

// The memories of a placed step on a device: one range of device memory of fixed size, in which
// every data item has its address, and pinned memory of the host. Copies are put into the stream of
// the task that runs them (device_task.h).
//
// Data are added, and at() and host() are called, by any one thread at a time while no task runs,
// or in the bodies of tasks.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/placement/offload_memory.h"

namespace hocket {

class PlacedMemory final : public OffloadMemory {
 public:
  /// Allocates `limit_bytes` of the device. `driver` must outlive it. Returns unavailable
  /// when the device has not so much.
  static Result<std::unique_ptr<PlacedMemory>> open(DeviceDriver& driver, std::int64_t limit_bytes);
  ~PlacedMemory() override;
  PlacedMemory(const PlacedMemory&) = delete;
  PlacedMemory& operator=(const PlacedMemory&) = delete;

  /// Adds a data item. `host` is pinned memory of its size, which outlives this; null for data
  /// that are never on the host. Data that no task accesses need not be added.
  void add(DataId data, void* host, std::size_t bytes);
  /// Moves all values to the host and forgets the data, so that others can take their numbers.
  Result<void> clear();

  bool has(DataId data) const { return data.index < items_.size() && items_[data.index].bytes > 0; }
  /// Returns where the device has the item; null where it never does.
  void* at(DataId data) const;
  /// Returns where the item's value is between two steps.
  PlacementSite home(DataId data) const { return items_[data.index].address.home; }

  std::int64_t device_memory_bytes() const override { return limit_bytes_; }
  Result<void> place(std::span<const DataAddress> data) override;
  void copy_to_device(DataId data) override;
  void copy_to_host(DataId data) override;
  std::span<float> on_device(DataId data, std::span<float> values) override;

 private:
  struct Item {
    void* host = nullptr;
    std::size_t bytes = 0;
    /// Initially all are on the host.
    DataAddress address{.data = {}, .home = PlacementSite::host};
  };

  PlacedMemory(DeviceDriver& driver, std::int64_t limit_bytes, DeviceStream stream,
               std::byte* memory)
      : driver_(driver), limit_bytes_(limit_bytes), stream_(stream), memory_(memory) {}
  Item& known(DataId data);
  /// Copies what is at home on the device to the host, or from there.
  Result<void> copy_homes(bool to_host);

  DeviceDriver& driver_;
  const std::int64_t limit_bytes_;
  const DeviceStream stream_;  ///< runs copies while no task runs
  std::byte* const memory_;
  std::vector<Item> items_;  // by data
};

}  // namespace hocket
