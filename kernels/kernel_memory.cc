#include "kernels/kernel_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/memory_budget.h"

namespace hocket {
namespace {

constexpr std::int64_t kAlignment = 256;

class HostKernelMemory final : public KernelMemory {
 public:
  std::optional<std::int64_t> available_bytes() const override { return available_memory_bytes(); }
  Result<Block> allocate(std::int64_t bytes) override {
    if (bytes == 0) return Block();
    const std::int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    auto* const memory =
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(whole)));
    if (memory == nullptr) {
      return failure(ErrorCode::unavailable,
                     "the host has no " + std::to_string(bytes) + " bytes of memory");
    }
    std::memset(memory, 0, static_cast<std::size_t>(whole));
    return Block(memory, [](std::byte* block) { std::free(block); });
  }
  Result<Block> allocate_on_host(std::int64_t bytes) override { return allocate(bytes); }
  Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    return copy(to, from.data(), std::ssize(from));
  }
  Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    return copy(to.data(), from, std::ssize(to));
  }

  Result<void> copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    std::copy_n(from, bytes, to);  // a rank's part of a state may be empty, and have no memory
    return {};
  }
  Result<void> take(const StepValues& values, std::byte* to) override {
    return copy(to, next(values), values.bytes);
  }
  Result<void> keep(const std::byte* from, const StepValues& values) override {
    return copy(next(values), from, values.bytes);
  }

 private:
  /// Returns the next of the values, which it counts.
  static std::byte* next(const StepValues& values) {
    std::int64_t& counter = *reinterpret_cast<std::int64_t*>(values.counter);
    return values.first + counter++ % values.count * values.bytes;
  }
};

}  // namespace

KernelMemory& host_kernel_memory() {
  static HostKernelMemory memory;
  return memory;
}

}  // namespace hocket
