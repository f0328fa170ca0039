#pragma once

// Runs the model on an emulated device with memory of its own, of limited size, beside its host
// (core/placement/step_placement.h): a part of this process's memory in which operations compute,
// and copies that take as long as a link would. What has a home on the host, and gradients that are
// moved there, have memory of the host as well, where updates of the host's layers compute.
//
// Threading as in Backend and OffloadMemory.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/placement/offload_memory.h"
#include "core/step/link.h"
#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/model/host_update.h"
#include "examples/gpt2/offload/device_arena.h"

namespace hocket {

struct OffloadDevice {
  /// At least DeviceArena::kAlignmentBytes; the device has the whole units of it.
  std::int64_t memory_bytes = 0;
  /// Link to the host, one in each direction; absent: copies take no longer than they do.
  std::optional<LinkSpec> link = {};

  bool operator==(const OffloadDevice&) const = default;
};

class OffloadBackend final : public HostBackend, public OffloadMemory {
 public:
  /// `clock` must outlive the backend. Returns unavailable where there is no such memory.
  static Result<std::unique_ptr<OffloadBackend>> create(const OffloadDevice& device,
                                                        const Clock& clock);

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

  std::int64_t device_memory_bytes() const override { return arena_.bytes(); }
  /// Values that live within a step become NaN, so that reading what nothing wrote shows.
  Result<void> place(std::span<const DataAddress> data) override;
  void copy_to_device(DataId data) override;
  void copy_to_host(DataId data) override;
  std::span<float> on_device(DataId data, std::span<float> values) override;

  /// Returns the end of the highest range that data have on the device.
  std::int64_t highest_address_bytes() const;

 protected:
  Floats values(const BufferSlice& slice) const override;

 private:
  /// A data item of the submitter.
  struct Item {
    std::size_t size = 0;   ///< elements; 0: it is no buffer of the model
    float* host = nullptr;  ///< null: it is never on the host
    bool is_kept = false;   ///< has a value between steps
    std::int64_t address_bytes = kNotOnDevice;
    Site home = Site::host;

    bool is_at_home_on_device() const {
      return is_kept && home == Site::device && address_bytes != kNotOnDevice;
    }
  };
  OffloadBackend(DeviceArena arena, const OffloadDevice& device, const Clock& clock)
      : arena_(std::move(arena)), device_(device), clock_(clock) {}

  /// Returns the item, which it adds if there is none. Only while no task runs.
  Item& add(DataId data);
  const Item& item(DataId data) const;
  Floats device_values(const Item& item) const {
    return arena_.floats(item.address_bytes, item.size);
  }
  static Floats host_values(const Item& item) { return {item.host, item.size}; }
  /// Returns where the value of a slice is between two steps.
  Floats at_home(const BufferSlice& slice) const;
  /// Moves all values to the host.
  void bring_home();
  /// `direction` is held by one copy at a time.
  void copy(std::mutex& direction, ConstFloats from, Floats to);

  const DeviceArena arena_;
  const OffloadDevice device_;
  const Clock& clock_;
  std::vector<Item> items_;  // by data; empty until the model is attached
  /// One thread, as the device's streams take the other processors.
  HostUpdate host_update_{1};
  std::mutex to_device_, to_host_;
};

}  // namespace hocket
