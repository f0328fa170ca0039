#pragma once

// A device's memory and its host's for tests, in cells of 256 bytes: computes tasks of steps to
// place (tests/core/placement/placed_program.h), detects values that are torn, and fails where it
// is told to. Data items are those of the step, by index.

#include <atomic>
#include <stdexcept>
#include <vector>

#include "core/base/check.h"
#include "core/placement/offload_memory.h"
#include "tests/core/placement/placed_program.h"

namespace hocket {

class MemoryModel final : public OffloadMemory {
 public:
  MemoryModel(const StepToPlace& step, std::int64_t limit_bytes)
      : step_(step),
        limit_bytes_(limit_bytes),
        host_(initial(step)),
        device_(static_cast<std::size_t>(limit_bytes / kCellBytes)),
        addresses_(step.data.size()) {
    for (DataAddress& each : addresses_) each.home = PlacementSite::host;
  }

  /// The copy of this number, counted from 0, throws.
  std::atomic<int> fails_at = -1;

  Result<void> forget() override { return {}; }
  void add(DataId, const OffloadedData&) override {}
  void* at(DataId data) const override {
    const std::int64_t begin = addresses_[data.index].address_bytes;
    return begin == kNotOnDevice ? nullptr
                                 : const_cast<Value*>(device_.data()) + begin / kCellBytes;
  }
  PlacementSite home(DataId data) const override { return addresses_[data.index].home; }
  std::int64_t device_memory_bytes() const override { return limit_bytes_; }

  Result<void> place(std::span<const DataAddress> data) override {
    for (const DataAddress& each : data)
      if (addresses_[each.data.index].home == PlacementSite::device &&
          addresses_[each.data.index].address_bytes != kNotOnDevice)
        host_[each.data.index] = load(each.data.index);
    for (const DataAddress& each : data) addresses_[each.data.index] = each;
    for (const DataAddress& each : data)
      if (each.home == PlacementSite::device && each.address_bytes != kNotOnDevice)
        store(each.data.index, host_[each.data.index]);
    return {};
  }

  void copy_to_device(DataId data) override {
    count();
    store(data.index, host_[data.index]);
  }
  void copy_to_host(DataId data) override {
    count();
    host_[data.index] = load(data.index);
  }
  std::span<float> on_device(DataId, std::span<float> values) override { return values; }

  /// Computes a task of step `round`, at the side on which it runs.
  void perform(std::uint32_t task, int round, PlacementSite site) {
    const auto is_elsewhere = [&](std::uint32_t i) {
      return site == PlacementSite::host || step_.data[i].bytes == 0;
    };
    hocket::perform(
        step_, task, round, [&](std::uint32_t i) { return is_elsewhere(i) ? host_[i] : load(i); },
        [&](std::uint32_t i, Value value) {
          is_elsewhere(i) ? void(host_[i] = value) : store(i, value);
        });
  }

  /// Returns the item's value between two steps.
  Value value(std::uint32_t item) const {
    const DataAddress& at = addresses_[item];
    return at.home == PlacementSite::host || at.address_bytes == kNotOnDevice ? host_[item]
                                                                              : load(item);
  }
  int copies() const { return copies_; }

 private:
  void count() {
    if (copies_++ == fails_at) throw std::runtime_error("injected failure");
  }
  std::size_t begin_of(std::uint32_t item) const {
    HOCKET_CHECK(addresses_[item].address_bytes >= 0, "the item is not on the device");
    return static_cast<std::size_t>(addresses_[item].address_bytes / kCellBytes);
  }
  std::size_t end_of(std::uint32_t item) const {
    return begin_of(item) +
           static_cast<std::size_t>((step_.data[item].bytes + kCellBytes - 1) / kCellBytes);
  }
  /// Returns 0 where the cells of the item differ.
  Value load(std::uint32_t item) const {
    const std::size_t begin = begin_of(item);
    for (std::size_t cell = begin; cell < end_of(item); ++cell)
      if (device_.at(cell) != device_[begin]) return 0;
    return device_[begin];
  }
  void store(std::uint32_t item, Value value) {
    for (std::size_t cell = begin_of(item); cell < end_of(item); ++cell) device_.at(cell) = value;
  }

  const StepToPlace& step_;
  const std::int64_t limit_bytes_;
  Memory host_;
  std::vector<Value> device_;
  std::vector<DataAddress> addresses_;
  std::atomic<int> copies_ = 0;
};

}  // namespace hocket
