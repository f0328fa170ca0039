#pragma once

// The device on which tests run kernels. A program links one of two implementations, the emulation
// or CUDA's. One thread.

#include <cstddef>
#include <string>

#include "core/cuda/driver/device_driver.h"

namespace hocket {

class KernelDevice {
 public:
  virtual ~KernelDevice() = default;
  /// Allocates memory aligned to 256 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// Reads memory after all launched work has run.
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;
  virtual DeviceStream stream() = 0;

  /// Forbids kernels to access this memory until allow(); the emulation reports an access
  /// immediately if it can detect it.
  virtual void forbid(const void*, std::size_t) {}
  virtual void allow(const void*, std::size_t) {}
};

/// Returns the device; null, with the reason in `why`, if there is none.
KernelDevice* kernel_device(std::string* why = nullptr);

}  // namespace hocket
