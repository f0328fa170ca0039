#include "examples/gpt2/offload/offload_backend.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

BufferSlice whole(const Buffer& buffer) {
  return {buffer, 0, buffer.size};
}

}  // namespace

Result<std::unique_ptr<OffloadBackend>> OffloadBackend::create(const EmulatedDeviceSpec& device,
                                                               const Clock& clock) {
  auto created = EmulatedDevice::create(device, clock);
  HOCKET_TRY(created);
  return std::unique_ptr<OffloadBackend>(new OffloadBackend(std::move(*created)));
}

std::int64_t OffloadBackend::memory_limit_bytes() const {
  return HostBackend::memory_limit_bytes() - device_->device_memory_bytes();
}

Buffer OffloadBackend::allocate(BufferUse use, std::size_t size) {
  if (use == BufferUse::master) return HostBackend::allocate(use, size);
  return {.id = {}, .size = size, .type = ElementType::float32, .memory = nullptr};
}

void OffloadBackend::attached(const ModelBuffers& buffers) {
  // The data have the numbers that the last submitter gave them.
  device_->forget();
  for (const UsedBuffer& each : buffers.within_step)
    device_->add(each.buffer->id, {.size = each.buffer->size});
  for (const Buffer* each : buffers.kept) {
    device_->add(each->id,
                 {.size = each->size, .host = floats(whole(*each)).data(), .is_kept = true});
  }
  for (const Buffer* each : buffers.gradients)
    device_->add(each->id, {.size = each->size, .host = floats(whole(*each)).data()});
}

Floats OffloadBackend::values(const BufferSlice& slice) const {
  if (!slice.buffer || slice.size == 0) return {};
  return device_->device_values(slice.buffer->id).subspan(slice.offset, slice.size);
}

Floats OffloadBackend::at_home(const BufferSlice& slice) const {
  const DataId data = slice.buffer->id;
  const bool is_on_device =
      device_->home(data) == PlacementSite::device && device_->is_on_device(data);
  HOCKET_CHECK(is_on_device || slice.buffer->memory, "it is nowhere before a step has run");
  return is_on_device ? values(slice) : floats(slice);
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
  const bool is_on_host = device_->home(parameters.buffer->id) == PlacementSite::host;
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
