#include <cstdlib>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "tests/examples/gpt2/cuda/kernel_device.h"

namespace hocket {
namespace {

class EmulatedKernelDevice final : public KernelDevice {
 public:
  void* allocate(std::size_t bytes) override {
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void release(void* memory) override { std::free(memory); }
  void write(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  DeviceStream stream() override { return {}; }

#ifdef __SANITIZE_ADDRESS__
  void forbid(const void* memory, std::size_t bytes) override {
    __asan_poison_memory_region(memory, bytes);
  }
  void allow(const void* memory, std::size_t bytes) override {
    __asan_unpoison_memory_region(memory, bytes);
  }
#endif
};

}  // namespace

KernelDevice* kernel_device(std::string*) {
  static EmulatedKernelDevice device;
  return &device;
}

}  // namespace hocket
