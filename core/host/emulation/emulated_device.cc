#include "core/host/emulation/emulated_device.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Result<std::unique_ptr<EmulatedDevice>> EmulatedDevice::create(const EmulatedDeviceSpec& device,
                                                               const Clock& clock) {
  constexpr std::int64_t kUnit = DeviceArena::kAlignmentBytes;
  auto arena = DeviceArena::create(device.memory_bytes / kUnit * kUnit);
  HOCKET_TRY(arena);
  return std::unique_ptr<EmulatedDevice>(new EmulatedDevice(std::move(*arena), device, clock));
}

EmulatedDevice::Item& EmulatedDevice::item_to_change(DataId data) {
  if (data.index >= items_.size()) items_.resize(data.index + 1);
  return items_[data.index];
}

const EmulatedDevice::Item& EmulatedDevice::item(DataId data) const {
  static const Item kNone;
  return data.index < items_.size() ? items_[data.index] : kNone;
}

Result<void> EmulatedDevice::forget() {
  bring_home();
  items_.clear();
  return {};
}

void EmulatedDevice::add(DataId data, const OffloadedData& added) {
  HOCKET_CHECK(!added.is_kept || added.host || added.bytes == 0,
               "a value between steps may have its home on the host");
  HOCKET_CHECK(added.bytes % sizeof(float) == 0, "the device's memory is of floats");
  item_to_change(data) = {.data = added};
}

void EmulatedDevice::bring_home() {
  for (Item& each : items_) {
    if (each.is_at_home_on_device()) std::ranges::copy(values_of(each), host_values(each).begin());
    each.address_bytes = kNotOnDevice;
    each.home = PlacementSite::host;
  }
}

Result<void> EmulatedDevice::place(std::span<const DataAddress> data) {
  bring_home();
  for (const DataAddress& each : data) {
    Item& placed = item_to_change(each.data);
    placed.address_bytes = each.address_bytes;
    placed.home = each.home;
    if (placed.data.host && !placed.data.is_kept) std::ranges::fill(host_values(placed), kNothing);
    if (each.address_bytes != kNotOnDevice) std::ranges::fill(values_of(placed), kNothing);
  }
  // Data that stay on the device share their range with nothing.
  for (const DataAddress& each : data) {
    const Item& placed = item(each.data);
    if (placed.is_at_home_on_device())
      std::ranges::copy(host_values(placed), values_of(placed).begin());
  }
  return {};
}

void EmulatedDevice::copy(std::mutex& direction, std::span<const float> from, std::span<float> to) {
  const std::lock_guard lock(direction);
  const std::int64_t begin_ns = clock_.now_ns();
  std::ranges::copy(from, to.begin());
  if (!device_.link) return;
  const double seconds = static_cast<double>(from.size_bytes()) / device_.link->bytes_per_second;
  clock_.sleep_until_ns(begin_ns + static_cast<std::int64_t>(seconds * 1e9) +
                        device_.link->latency_ns);
}

void EmulatedDevice::copy_to_device(DataId data) {
  const Item& copied = item(data);
  HOCKET_CHECK(copied.data.host, "what is fetched is on the host");
  copy(to_device_, host_values(copied), values_of(copied));
}

void EmulatedDevice::copy_to_host(DataId data) {
  const Item& copied = item(data);
  HOCKET_CHECK(copied.data.host, "what is moved out has memory on the host");
  copy(to_host_, values_of(copied), host_values(copied));
}

std::span<float> EmulatedDevice::on_device(DataId data, std::span<float> values) {
  const Item& of = item(data);
  // A collective of the job's own has no memory on the device.
  if (of.address_bytes == kNotOnDevice) return values;
  HOCKET_CHECK(size_of(of) == values.size(), "a collective is of a whole item");
  return values_of(of);
}

void* EmulatedDevice::at(DataId data) const {
  return is_on_device(data) ? device_values(data).data() : nullptr;
}

std::span<float> EmulatedDevice::device_values(DataId data) const {
  const Item& of = item(data);
  HOCKET_CHECK(of.address_bytes != kNotOnDevice, "a task of the device accesses what is there");
  return values_of(of);
}

std::int64_t EmulatedDevice::highest_address_bytes() const {
  std::int64_t highest = 0;
  for (const Item& each : items_) {
    if (each.address_bytes == kNotOnDevice) continue;
    highest = std::max(highest, each.address_bytes + each.data.bytes);
  }
  return highest;
}

}  // namespace hocket
