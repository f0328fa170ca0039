#pragma once

// Handles of events, as NCCL keeps them. A handle is no address but a number that says which slot
// of which meter it means, and in which generation of the slot, so that a stale one is recognised
// and nothing is ever read through it. Its upper 16 bits make it different from every address,
// which tells it apart from the handles of a chained profiler. Pure functions; thread-safe.
//
//   tag 16 | meter 10 | slot 8 | is channel 1 | channel 6 | generation 23
//
// A stale handle would be taken for a fresh one after exactly 2^23 uses of its slot.

#include <cstdint>

namespace hocket::nccl::measure {

inline constexpr int kMeters = 1023;  // the last number is for handles without a slot
inline constexpr int kSlots = 256;
inline constexpr int kChannels = 64;
inline constexpr std::uint32_t kGenerationMask = (1U << 23) - 1;

struct EventHandle {
  int meter = 0, slot = 0;
  bool is_channel = false;
  int channel = 0;
  std::uint32_t generation = 0;  // modulo 2^23

  bool operator==(const EventHandle&) const = default;
};

inline constexpr std::uint64_t kHandleTag = 0xB0C7;

inline void* to_pointer(const EventHandle& handle) {
  const std::uint64_t bits = kHandleTag << 48 | static_cast<std::uint64_t>(handle.meter) << 38 |
                             static_cast<std::uint64_t>(handle.slot) << 30 |
                             static_cast<std::uint64_t>(handle.is_channel) << 29 |
                             static_cast<std::uint64_t>(handle.channel) << 23 |
                             (handle.generation & kGenerationMask);
  return reinterpret_cast<void*>(bits);
}

/// Returns whether the pointer is a handle of this plugin.
inline bool is_own(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer) >> 48 == kHandleTag;
}

/// Requires is_own(pointer). Every number in the result is in its range, except that `meter` may be
/// kMeters, which means no slot.
inline EventHandle to_handle(const void* pointer) {
  const auto bits = reinterpret_cast<std::uint64_t>(pointer);
  EventHandle handle;
  handle.meter = static_cast<int>(bits >> 38 & 1023);
  handle.slot = static_cast<int>(bits >> 30 & 255);
  handle.is_channel = (bits >> 29 & 1) != 0;
  handle.channel = static_cast<int>(bits >> 23 & 63);
  handle.generation = static_cast<std::uint32_t>(bits) & kGenerationMask;
  return handle;
}

/// Returns the handle for an event that was asked for but found no slot. It does nothing.
inline void* handle_without_slot() {
  return to_pointer({kMeters, 0, false, 0, 0});
}

}  // namespace hocket::nccl::measure
