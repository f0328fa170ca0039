#pragma once

// A device's memory, and pinned memory of its host, for kernels that run in streams. What is for
// the bodies of tasks puts its work into the stream of the task that runs (device_task.h). Taking
// and keeping values takes kernels: cuda_memory.h has those of CUDA.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "kernels/kernel_memory.h"

namespace hocket {

class DeviceKernelMemory : public KernelMemory {
 public:
  ~DeviceKernelMemory() override;
  DeviceKernelMemory(const DeviceKernelMemory&) = delete;
  DeviceKernelMemory& operator=(const DeviceKernelMemory&) = delete;

  std::optional<std::int64_t> available_bytes() const override { return memory_bytes_; }
  Result<Block> allocate(std::int64_t bytes) override;
  Result<Block> allocate_on_host(std::int64_t bytes) override;
  Result<void> write(std::byte* to, std::span<const std::byte> from) override;
  Result<void> read(std::span<std::byte> to, const std::byte* from) override;
  Result<void> copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;

 protected:
  /// Returns unavailable with the driver's message.
  static Result<DeviceStream> open_stream(DeviceDriver& driver);
  /// `driver` must outlive the memory; `setup` is a stream of open_stream().
  DeviceKernelMemory(DeviceDriver& driver, DeviceStream setup, std::int64_t memory_bytes)
      : driver_(driver), setup_(setup), memory_bytes_(memory_bytes) {}

 private:
  DeviceDriver& driver_;
  const DeviceStream setup_;  ///< runs what is done while no task runs
  const std::int64_t memory_bytes_;
};

}  // namespace hocket
