#pragma once

// What the tests run kernels on: a program with them has one of two implementations, the emulation
// or CUDA's.

#include <cstddef>
#include <string>

#include "core/cuda/driver/device_driver.h"

namespace hocket {

class KernelDevice {
 public:
  virtual ~KernelDevice() = default;
  /// Aligned to 256 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// After what was launched has run.
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;
  virtual DeviceStream stream() = 0;

  /// Until it is allowed, kernels must not touch this: an error at once where somebody can tell.
  virtual void forbid(const void*, std::size_t) {}
  virtual void allow(const void*, std::size_t) {}
};

/// Null where there is none, and then `why` says why.
KernelDevice* kernel_device(std::string* why = nullptr);

}  // namespace hocket
