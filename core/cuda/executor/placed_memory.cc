#include "core/cuda/executor/placed_memory.h"

#include <stdexcept>
#include <string>

#include "core/base/check.h"
#include "core/cuda/executor/device_task.h"

namespace hocket {

Result<std::unique_ptr<PlacedMemory>> PlacedMemory::open(DeviceDriver& driver,
                                                         std::int64_t limit_bytes) {
  HOCKET_TRY(driver.use_device());
  const auto stream = driver.create_stream(StreamPriority::normal);
  HOCKET_TRY(stream);
  const auto memory = driver.allocate(static_cast<std::size_t>(limit_bytes), *stream);
  auto ready = memory ? driver.synchronize(*stream) : failure(memory.error());
  if (!ready) {
    driver.destroy_stream(*stream);
    return failure(ready.error().in("allocating " + std::to_string(limit_bytes) +
                                    " B of the device, the limit of its memory"));
  }
  return std::unique_ptr<PlacedMemory>(
      new PlacedMemory(driver, limit_bytes, *stream, static_cast<std::byte*>(*memory)));
}

PlacedMemory::~PlacedMemory() {
  static_cast<void>(driver_.free(memory_, stream_));
  static_cast<void>(driver_.synchronize(stream_));
  driver_.destroy_stream(stream_);
}

void PlacedMemory::add(DataId data, const OffloadedData& added) {
  if (data.index >= items_.size()) items_.resize(data.index + 1);
  items_[data.index] = {.data = added};
}

PlacedMemory::Item& PlacedMemory::known(DataId data) {
  HOCKET_CHECK(has(data), "a data item that was not added");
  return items_[data.index];
}

void* PlacedMemory::at(DataId data) const {
  HOCKET_CHECK(has(data), "a data item that was not added");
  const std::int64_t begin = items_[data.index].address.address_bytes;
  return begin == kNotOnDevice ? nullptr : memory_ + begin;
}

Result<void> PlacedMemory::copy_homes(bool to_host) {
  for (const Item& item : items_) {
    const std::int64_t begin = item.address.address_bytes;
    if (item.address.home != PlacementSite::device || !item.data.host || begin == kNotOnDevice)
      continue;
    std::byte* const device = memory_ + begin;
    const auto bytes = static_cast<std::size_t>(item.data.bytes);
    HOCKET_TRY(to_host ? driver_.copy(item.data.host, device, bytes, stream_)
                       : driver_.copy(device, item.data.host, bytes, stream_));
  }
  return driver_.synchronize(stream_);
}

Result<void> PlacedMemory::forget() {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(copy_homes(true));
  items_.clear();
  return {};
}

Result<void> PlacedMemory::place(std::span<const DataAddress> data) {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(copy_homes(true));
  for (const DataAddress& each : data) {
    if (!has(each.data)) {
      HOCKET_CHECK(each.address_bytes == kNotOnDevice, "what is placed on the device was added");
      continue;
    }
    items_[each.data.index].address = each;
  }
  return copy_homes(false);
}

void PlacedMemory::copy_to_device(DataId data) {
  const Item& item = known(data);
  HOCKET_CHECK(item.data.host, "data of the device alone are not copied");
  const auto ok = driver_.copy(at(data), item.data.host, static_cast<std::size_t>(item.data.bytes),
                               this_device_task().stream);
  if (!ok) throw std::runtime_error(ok.error().message);
}

void PlacedMemory::copy_to_host(DataId data) {
  const Item& item = known(data);
  HOCKET_CHECK(item.data.host, "data of the device alone are not copied");
  const auto ok = driver_.copy(item.data.host, at(data), static_cast<std::size_t>(item.data.bytes),
                               this_device_task().stream);
  if (!ok) throw std::runtime_error(ok.error().message);
}

std::span<float> PlacedMemory::on_device(DataId data, std::span<float> values) {
  const auto* const host = static_cast<const float*>(known(data).data.host);
  const auto offset = host ? values.data() - host : 0;
  return {static_cast<float*>(at(data)) + offset, values.size()};
}

}  // namespace hocket
