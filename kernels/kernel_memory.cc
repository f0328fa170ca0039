#include "kernels/kernel_memory.h"

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
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

}  // namespace

KernelMemory& host_kernel_memory() {
  static HostKernelMemory memory;
  return memory;
}

}  // namespace hocket
