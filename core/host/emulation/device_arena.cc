#include "core/host/emulation/device_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {

Result<DeviceArena> DeviceArena::create(std::int64_t bytes) {
  HOCKET_CHECK(bytes > 0 && bytes % kAlignmentBytes == 0, "a size in whole units");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t usable = (size + page - 1) / page * page;
  void* const mapped = mmap(nullptr, usable + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return failure(ErrorCode::unavailable, "an emulated device of " + std::to_string(bytes) +
                                               " B: " + std::strerror(errno) +
                                               "; choose a smaller one");
  }
  auto* const first = static_cast<std::byte*>(mapped);
  HOCKET_CHECK(mprotect(first + usable, page, PROT_NONE) == 0, "the guard is a page of ours");
  // The device ends where the guard begins.
  return DeviceArena(mapped, usable + page, first + (usable - size), bytes);
}

DeviceArena::DeviceArena(DeviceArena&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      begin_(other.begin_),
      bytes_(other.bytes_) {}

DeviceArena::~DeviceArena() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

std::span<float> DeviceArena::floats(std::int64_t begin_bytes, std::size_t count) const {
  const auto size = static_cast<std::int64_t>(count * sizeof(float));
  HOCKET_CHECK(begin_bytes >= 0 && begin_bytes + size <= bytes_, "a range of the device");
  return {reinterpret_cast<float*>(begin_ + begin_bytes), count};
}

}  // namespace hocket
