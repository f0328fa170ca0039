#pragma once

// The memory of an emulated device: of a hard size, with a page behind it that nothing may touch.
// One thread creates it; the memory is whoever's the owner lets use it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"

namespace hocket {

class DeviceArena {
 public:
  /// Ranges begin at multiples of this (core/placement/step_placement.h).
  static constexpr std::int64_t kAlignmentBytes = 256;

  /// `bytes` must be a positive multiple of kAlignmentBytes. Memory is taken when it is first
  /// written. Returns unavailable where the system has no such range of addresses.
  static Result<DeviceArena> create(std::int64_t bytes);
  ~DeviceArena();
  DeviceArena(DeviceArena&& other) noexcept;
  DeviceArena& operator=(DeviceArena&&) = delete;

  std::int64_t bytes() const { return bytes_; }
  /// Returns the floats from `begin_bytes` on; they must be within the arena.
  std::span<float> floats(std::int64_t begin_bytes, std::size_t count) const;

 private:
  DeviceArena(void* mapped, std::size_t mapped_bytes, std::byte* begin, std::int64_t bytes)
      : mapped_(mapped), mapped_bytes_(mapped_bytes), begin_(begin), bytes_(bytes) {}

  void* mapped_;
  std::size_t mapped_bytes_;
  std::byte* begin_;
  std::int64_t bytes_;
};

}  // namespace hocket
