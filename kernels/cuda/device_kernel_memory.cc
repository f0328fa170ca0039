#include "kernels/cuda/device_kernel_memory.h"

#include <cstring>

#include "core/cuda/executor/device_task.h"

namespace hocket {

Result<DeviceStream> DeviceKernelMemory::open_stream(DeviceDriver& driver) {
  HOCKET_TRY(driver.use_device());
  return driver.create_stream(StreamPriority::normal);
}

DeviceKernelMemory::~DeviceKernelMemory() {
  static_cast<void>(driver_.synchronize(setup_));
  driver_.destroy_stream(setup_);
}

Result<KernelMemory::Block> DeviceKernelMemory::allocate(std::int64_t bytes) {
  if (bytes == 0) return Block();
  const auto size = static_cast<std::size_t>(bytes);
  HOCKET_TRY(driver_.use_device());
  const auto memory = driver_.allocate(size, setup_);
  HOCKET_TRY(memory);
  Block block(static_cast<std::byte*>(*memory),
              [this](std::byte* of) { static_cast<void>(driver_.free(of, setup_)); });
  HOCKET_TRY(driver_.fill_zero(*memory, size, setup_));
  HOCKET_TRY(driver_.synchronize(setup_));
  return block;
}

Result<KernelMemory::Block> DeviceKernelMemory::allocate_on_host(std::int64_t bytes) {
  if (bytes == 0) return Block();
  HOCKET_TRY(driver_.use_device());
  const auto memory = driver_.allocate_host(static_cast<std::size_t>(bytes));
  HOCKET_TRY(memory);
  std::memset(*memory, 0, static_cast<std::size_t>(bytes));
  return Block(static_cast<std::byte*>(*memory), [this](std::byte* of) { driver_.free_host(of); });
}

Result<void> DeviceKernelMemory::write(std::byte* to, std::span<const std::byte> from) {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(driver_.copy(to, from.data(), from.size(), setup_));
  return driver_.synchronize(setup_);
}

Result<void> DeviceKernelMemory::read(std::span<std::byte> to, const std::byte* from) {
  HOCKET_TRY(driver_.use_device());
  HOCKET_TRY(driver_.copy(to.data(), from, to.size(), setup_));
  return driver_.synchronize(setup_);
}

Result<void> DeviceKernelMemory::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  return driver_.copy(to, from, static_cast<std::size_t>(bytes), this_device_task().stream);
}

}  // namespace hocket
