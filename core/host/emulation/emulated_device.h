#pragma once

// The memory of an emulated device of limited size beside its host: a part of this process's memory
// in which tasks compute, and copies that take as long as a link would. Data that have their home
// on the host, and those that are moved there, have memory of the host as well, which the job owns.
//
// Threading as in OffloadMemory. Everything else is called while no task runs, except
// device_values() and is_on_device(), which the bodies of tasks may call.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/host/emulation/device_arena.h"
#include "core/placement/offload_memory.h"
#include "core/step/link.h"
#include "core/step/task.h"

namespace hocket {

struct EmulatedDeviceSpec {
  /// At least DeviceArena::kAlignmentBytes; the device has the whole units of it.
  std::int64_t memory_bytes = 0;
  /// Link to the host, one in each direction; absent: copies take no longer than they do.
  std::optional<LinkSpec> link = {};

  bool operator==(const EmulatedDeviceSpec&) const = default;
};

class EmulatedDevice final : public OffloadMemory {
 public:
  /// `clock` must outlive the device. Returns unavailable where there is no such memory.
  static Result<std::unique_ptr<EmulatedDevice>> create(const EmulatedDeviceSpec& device,
                                                        const Clock& clock);

  Result<void> forget() override;
  /// Requires whole floats.
  void add(DataId data, const OffloadedData& added) override;
  void* at(DataId data) const override;
  PlacementSite home(DataId data) const override { return item(data).home; }

  std::int64_t device_memory_bytes() const override { return arena_.bytes(); }
  /// Values that live within a step become NaN, so that reading a value that nothing wrote shows.
  Result<void> place(std::span<const DataAddress> data) override;
  void copy_to_device(DataId data) override;
  void copy_to_host(DataId data) override;
  std::span<float> on_device(DataId data, std::span<float> values) override;

  /// Returns whether the data have a range on the device.
  bool is_on_device(DataId data) const { return item(data).address_bytes != kNotOnDevice; }
  /// Returns the range on the device; the data must have one.
  std::span<float> device_values(DataId data) const;
  /// Returns the end of the highest range that data have on the device.
  std::int64_t highest_address_bytes() const;

 private:
  struct Item {
    OffloadedData data;
    std::int64_t address_bytes = kNotOnDevice;
    PlacementSite home = PlacementSite::host;

    bool is_at_home_on_device() const {
      return data.is_kept && home == PlacementSite::device && address_bytes != kNotOnDevice;
    }
  };
  EmulatedDevice(DeviceArena arena, const EmulatedDeviceSpec& device, const Clock& clock)
      : arena_(std::move(arena)), device_(device), clock_(clock) {}

  /// Returns the item, which it adds if there is none.
  Item& item_to_change(DataId data);
  const Item& item(DataId data) const;
  std::span<float> values_of(const Item& item) const {
    return arena_.floats(item.address_bytes, size_of(item));
  }
  static std::size_t size_of(const Item& item) {
    return static_cast<std::size_t>(item.data.bytes) / sizeof(float);
  }
  static std::span<float> host_values(const Item& item) {
    return {static_cast<float*>(item.data.host), size_of(item)};
  }
  void bring_home();
  /// `direction` is held by one copy at a time.
  void copy(std::mutex& direction, std::span<const float> from, std::span<float> to);

  const DeviceArena arena_;
  const EmulatedDeviceSpec device_;
  const Clock& clock_;
  std::vector<Item> items_;  // by data
  std::mutex to_device_, to_host_;
};

}  // namespace hocket
