#pragma once

// The seam to the memory of a device that kernels compute on. One thread at a time calls what is
// for the time when no task runs; what is for the bodies of tasks may be called by several at once,
// on values of their own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace hocket {

/// Values that follow each other from step to step, in memory of the host. A counter in the
/// device's memory says how many steps have used theirs, so that a task is the same in every step
/// and a device may repeat it.
struct StepValues {
  std::byte* first = nullptr;
  std::int64_t bytes = 0;        ///< of each value
  std::int64_t count = 1;        ///< values; step number i has that of i mod count
  std::byte* counter = nullptr;  ///< a std::int64_t
};

class KernelMemory {
 public:
  /// Frees the memory at its end, which the KernelMemory outlives.
  using Block = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

  virtual ~KernelMemory() = default;

  // While no task runs:

  /// Returns how many bytes there are, if that is known: a system may grant memory that does not
  /// exist, and end the process when it is used.
  virtual std::optional<std::int64_t> available_bytes() const = 0;
  /// Returns `bytes` of memory that begin at a multiple of 256 and are 0; null for 0 bytes.
  /// unavailable where there are not so many.
  virtual Result<Block> allocate(std::int64_t bytes) = 0;
  /// Does the same in the host's memory, which tasks reach, too.
  virtual Result<Block> allocate_on_host(std::int64_t bytes) = 0;
  /// Copy between the host and the device's memory.
  virtual Result<void> write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Result<void> read(std::span<std::byte> to, const std::byte* from) = 0;

  // In the body of a task, in the order of its work:

  /// Copies bytes of the device's memory; the two may not overlap.
  virtual Result<void> copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  /// Copies the next of the values to `to`, and counts it.
  virtual Result<void> take(const StepValues& values, std::byte* to) = 0;
  /// Copies `from` to the place of the next of the values, and counts it.
  virtual Result<void> keep(const std::byte* from, const StepValues& values) = 0;
};

/// The host's memory.
KernelMemory& host_kernel_memory();

}  // namespace hocket
