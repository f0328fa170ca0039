#pragma once

// The seam to the memory of a device that kernels compute on. One thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/result.h"

namespace hocket {

class KernelMemory {
 public:
  /// Frees the memory at its end, which the KernelMemory outlives.
  using Block = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

  virtual ~KernelMemory() = default;

  /// Returns how many bytes there are, if that is known: a system may grant memory that does not
  /// exist, and end the process when it is used.
  virtual std::optional<std::int64_t> available_bytes() const = 0;
  /// Returns `bytes` of memory that begin at a multiple of 256 and are 0; null for 0 bytes.
  /// unavailable where there are not so many.
  virtual Result<Block> allocate(std::int64_t bytes) = 0;
  /// Copies bytes of the device's memory; the two may not overlap.
  virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
};

/// The host's memory.
KernelMemory& host_kernel_memory();

}  // namespace hocket
