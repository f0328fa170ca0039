#include "examples/gpt2/offload/offload_backend.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

BufferSlice whole(const Buffer& buffer) {
  return {buffer, 0, buffer.size};
}

}  // namespace

Result<std::unique_ptr<OffloadBackend>> OffloadBackend::create(const OffloadDevice& device,
                                                               const Clock& clock) {
  constexpr std::int64_t kUnit = DeviceArena::kAlignmentBytes;
  auto arena = DeviceArena::create(device.memory_bytes / kUnit * kUnit);
  HOCKET_TRY(arena);
  return std::unique_ptr<OffloadBackend>(new OffloadBackend(std::move(*arena), device, clock));
}

std::int64_t OffloadBackend::memory_limit_bytes() const {
  return HostBackend::memory_limit_bytes() - arena_.bytes();
}

Buffer OffloadBackend::allocate(BufferUse use, std::size_t size) {
  if (use == BufferUse::master) return HostBackend::allocate(use, size);
  return {.id = {}, .size = size, .type = ElementType::float32, .memory = nullptr};
}

OffloadBackend::Item& OffloadBackend::add(DataId data) {
  if (data.index >= items_.size()) items_.resize(data.index + 1);
  return items_[data.index];
}

const OffloadBackend::Item& OffloadBackend::item(DataId data) const {
  static const Item kNone;
  return data.index < items_.size() ? items_[data.index] : kNone;
}

void OffloadBackend::attached(const ModelBuffers& buffers) {
  // The items have the names that the last submitter gave them.
  bring_home();
  items_.clear();
  for (const UsedBuffer& each : buffers.within_step)
    add(each.buffer->id) = {.size = each.buffer->size};
  for (const Buffer* each : buffers.kept)
    add(each->id) = {.size = each->size, .host = floats(whole(*each)).data(), .is_kept = true};
  for (const Buffer* each : buffers.gradients)
    add(each->id) = {.size = each->size, .host = floats(whole(*each)).data()};
}

void OffloadBackend::bring_home() {
  for (Item& each : items_) {
    if (each.is_at_home_on_device()) std::ranges::copy(device_values(each), each.host);
    each.address_bytes = kNotOnDevice;
    each.home = Site::host;
  }
}

Result<void> OffloadBackend::place(std::span<const DataAddress> data) {
  bring_home();
  for (const DataAddress& each : data) {
    Item& placed = add(each.data);
    placed.address_bytes = each.address_bytes;
    placed.home = each.home;
    if (placed.host && !placed.is_kept) std::ranges::fill(host_values(placed), kNothing);
    if (each.address_bytes != kNotOnDevice) std::ranges::fill(device_values(placed), kNothing);
  }
  // Data that stay on the device share their range with nothing.
  for (const DataAddress& each : data) {
    const Item& placed = item(each.data);
    if (placed.is_at_home_on_device())
      std::ranges::copy(host_values(placed), device_values(placed).begin());
  }
  return {};
}

void OffloadBackend::copy(std::mutex& direction, ConstFloats from, Floats to) {
  const std::lock_guard lock(direction);
  const std::int64_t begin_ns = clock_.now_ns();
  std::ranges::copy(from, to.begin());
  if (!device_.link) return;
  const double seconds = static_cast<double>(from.size_bytes()) / device_.link->bytes_per_second;
  clock_.sleep_until_ns(begin_ns + static_cast<std::int64_t>(seconds * 1e9) +
                        device_.link->latency_ns);
}

void OffloadBackend::copy_to_device(DataId data) {
  const Item& copied = item(data);
  HOCKET_CHECK(copied.host, "what is fetched is on the host");
  copy(to_device_, host_values(copied), device_values(copied));
}

void OffloadBackend::copy_to_host(DataId data) {
  const Item& copied = item(data);
  HOCKET_CHECK(copied.host, "what is moved out has memory on the host");
  copy(to_host_, device_values(copied), host_values(copied));
}

std::span<float> OffloadBackend::on_device(DataId data, std::span<float> values) {
  const Item& of = item(data);
  // A collective of the job's own has no memory on the device.
  if (of.address_bytes == kNotOnDevice) return values;
  HOCKET_CHECK(of.size == values.size(), "a collective is of a whole item");
  return device_values(of);
}

std::int64_t OffloadBackend::highest_address_bytes() const {
  std::int64_t highest = 0;
  for (const Item& each : items_) {
    if (each.address_bytes == kNotOnDevice) continue;
    const auto bytes = static_cast<std::int64_t>(each.size * sizeof(float));
    highest = std::max(highest, each.address_bytes + bytes);
  }
  return highest;
}

Floats OffloadBackend::values(const BufferSlice& slice) const {
  if (!slice.buffer || slice.size == 0) return {};
  const Item& of = item(slice.buffer->id);
  HOCKET_CHECK(of.address_bytes != kNotOnDevice, "a task of the device accesses what is there");
  return device_values(of).subspan(slice.offset, slice.size);
}

Floats OffloadBackend::at_home(const BufferSlice& slice) const {
  const Item& of = item(slice.buffer->id);
  const bool is_on_device = of.home == Site::device && of.address_bytes != kNotOnDevice;
  HOCKET_CHECK(is_on_device || slice.buffer->memory, "it is nowhere before a step has run");
  return is_on_device ? device_values(of).subspan(slice.offset, slice.size) : floats(slice);
}

void OffloadBackend::store(const BufferSlice& to, std::span<const float> values) {
  HOCKET_CHECK(values.size() == to.size, "as many values as the slice has");
  std::ranges::copy(values, at_home(to).begin());
}

std::vector<float> OffloadBackend::load(const BufferSlice& from) const {
  const Floats values = at_home(from);
  return {values.begin(), values.end()};
}

void OffloadBackend::adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                                  double gradient_scale, std::span<const AdamWRange> ranges,
                                  const BufferSlice& gradients, const BufferSlice& parameters,
                                  const BufferSlice& first_moment, const BufferSlice& second_moment,
                                  const BufferSlice&) {
  const bool is_on_host = item(parameters.buffer->id).home == Site::host;
  const auto at = [&](const BufferSlice& slice) {
    return is_on_host ? floats(slice) : values(slice);
  };
  update(options, updates, units, gradient_scale, ranges,
         {.gradients = at(gradients),
          .parameters = at(parameters),
          .first_moment = at(first_moment),
          .second_moment = at(second_moment)},
         is_on_host ? &host_update_ : nullptr);
}

}  // namespace hocket
