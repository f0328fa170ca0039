#pragma once

// The memories of a placed step on a device: one range of device memory of fixed size, in which
// every data item has its address, and pinned memory of the host. Copies are put into the stream of
// the task that runs them (device_task.h).
//
// Threading as in OffloadMemory.

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

  Result<void> forget() override;
  /// Memory of the host must be pinned.
  void add(DataId data, const OffloadedData& added) override;
  bool has(DataId data) const {
    return data.index < items_.size() && items_[data.index].data.bytes > 0;
  }
  /// Requires an item that was added, as home() does.
  void* at(DataId data) const override;
  PlacementSite home(DataId data) const override { return items_[data.index].address.home; }

  std::int64_t device_memory_bytes() const override { return limit_bytes_; }
  Result<void> place(std::span<const DataAddress> data) override;
  void copy_to_device(DataId data) override;
  void copy_to_host(DataId data) override;
  std::span<float> on_device(DataId data, std::span<float> values) override;

 private:
  struct Item {
    OffloadedData data;
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
