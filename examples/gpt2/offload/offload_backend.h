#pragma once

// Runs the model on an emulated device of limited memory beside its host
// (core/host/emulation/emulated_device.h). Layers that are kept on the host are updated there.
//
// Threading as in Backend.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/host/emulation/emulated_device.h"
#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/model/host_update.h"

namespace hocket {

class OffloadBackend final : public HostBackend {
 public:
  /// `clock` must outlive the backend. Returns unavailable where there is no such memory.
  static Result<std::unique_ptr<OffloadBackend>> create(const EmulatedDeviceSpec& device,
                                                        const Clock& clock);

  EmulatedDevice& device() { return *device_; }

  /// The device's memory is the host's, too.
  std::int64_t memory_limit_bytes() const override;
  bool keeps_step_buffers() const override { return false; }
  Buffer allocate(BufferUse use, std::size_t size) override;
  void attached(const ModelBuffers& buffers) override;
  void store(const BufferSlice& to, std::span<const float> values) override;
  std::vector<float> load(const BufferSlice& from) const override;
  void adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                    double gradient_scale, std::span<const AdamWRange> ranges,
                    const BufferSlice& gradients, const BufferSlice& parameters,
                    const BufferSlice& first_moment, const BufferSlice& second_moment,
                    const BufferSlice& weights) override;

 protected:
  Floats values(const BufferSlice& slice) const override;

 private:
  explicit OffloadBackend(std::unique_ptr<EmulatedDevice> device) : device_(std::move(device)) {}

  /// Returns where the value of a slice is between two steps.
  Floats at_home(const BufferSlice& slice) const;

  const std::unique_ptr<EmulatedDevice> device_;  // has no data until the model is attached
  /// One thread, as the device's streams take the other processors.
  HostUpdate host_update_{1};
};

}  // namespace hocket
