#pragma once

// Slots in which the collectives of one communicator are measured: fixed, never freed, without
// locks and without allocation. begin() is called by NCCL's thread of the communicator, the rest by
// any thread, also long after the collective or the communicator has ended.
//
// Invariants
// 1. `state` holds the slot's generation and the number of threads that use the slot now (pins).
//    A thread uses a slot only while it holds a pin, and gets one only for the present generation.
//    Handles carry even generations.
// 2. begin() writes to a slot only in an odd generation, to which it goes only without pins. So
//    nobody reads while it writes.
// 3. Fields that are not atomic change only then.
// 4. A collective is published at most once in a generation.

#include <array>
#include <atomic>
#include <cstdint>

#include "plugins/nccl/measure/collective_ring.h"
#include "plugins/nccl/measure/event_handle.h"
#include "plugins/nccl/measure/measured_collective.h"

namespace hocket::nccl::measure {

/// Counts of what could not be measured.
struct MeasuringLosses {
  std::uint64_t overflow = 0;      ///< collectives that the ring had no place for
  std::uint64_t without_slot = 0;  ///< collectives that found no free slot
  std::uint64_t quarantined = 0;   ///< collectives with impossible times, which are dropped
  std::uint64_t incomplete = 0;  ///< collectives whose slot was reused before all channels stopped
  std::uint64_t stale = 0;       ///< events whose slot had been reused or closed
};

class EventSlots {
 public:
  /// Longer times are taken for an error.
  static constexpr std::uint64_t kMaxTime_ns = 3'600'000'000'000;
  /// A slot whose channels have not all stopped is reused after that many further collectives.
  static constexpr std::uint64_t kPatience = 4 * kSlots;

  explicit EventSlots(int meter) : meter_(meter) {}

  /// Begins to measure a collective of which `announced` has everything but the times. `chained` is
  /// the handle that the chained profiler has given it, or null; `epoch` goes to the ring with the
  /// result. Returns null if no slot is free.
  void* begin(const MeasuredCollective& announced, void* chained, std::uint32_t epoch);

  /// Makes all handles stale. Waits for nobody.
  void close();

  /// Losses, and those that the ring counts.
  MeasuringLosses losses() const;
  void count_stale() { stale_.fetch_add(1, std::memory_order_relaxed); }

  CollectiveRing& ring() { return ring_; }

 private:
  friend class SlotUse;

  struct Channel {
    std::atomic<std::uint64_t> start_ns{0};
    std::atomic<void*> chained{nullptr};
  };

  struct Slot {
    std::atomic<std::uint64_t> state{0};  // generation << kPinBits | pins

    MeasuredCollective announced;
    void* chained = nullptr;
    std::uint32_t epoch = 0;
    std::uint64_t begun = 0;  // number of the begin(); only its thread reads it

    std::atomic<std::uint64_t> earliest_ns{0}, latest_ns{0};
    // Channels as bits: those that started, those with a time of stopping, and those that NCCL has
    // ended.
    std::atomic<std::uint64_t> started{0}, stopped{0}, ended{0};
    std::atomic<bool> is_ended{false}, is_published{false}, is_absurd{false};
    std::array<Channel, kChannels> channels;
  };

  static bool is_finished(const Slot& slot);
  Slot* claim();
  bool claim(Slot& slot);
  void publish(Slot& slot);

  static constexpr int kPinBits = 16;
  static constexpr std::uint64_t kPins = (std::uint64_t{1} << kPinBits) - 1;

  const int meter_;
  std::uint64_t begins_ = 0;  // only begin()
  std::atomic<std::uint64_t> without_slot_{0}, quarantined_{0}, incomplete_{0}, stale_{0};
  CollectiveRing ring_;
  std::array<Slot, kSlots> slots_;
};

/// The use of a slot by one thread for one call of NCCL's; pins the slot while it lives.
class SlotUse {
 public:
  SlotUse(EventSlots& slots, const EventHandle& handle);
  ~SlotUse();
  SlotUse(const SlotUse&) = delete;
  SlotUse& operator=(const SlotUse&) = delete;

  /// False if the handle is stale; then nothing else may be called.
  explicit operator bool() const { return slot_ != nullptr; }

  /// The handle by which the chained profiler knows the collective, or the channel; may be null.
  void* chained() const;
  bool has_started(int channel) const;
  /// Starts a channel of the collective, which NCCL has known since before, and returns its handle.
  /// Ignores a channel that has started already, or has no place.
  void* start_channel(int channel, std::uint64_t start_ns, void* chained);
  /// For the handle of a channel: it stopped at that time. Ignores a second time.
  void stop_channel(std::uint64_t stop_ns);
  /// NCCL has stopped the event of this handle and mentions it no more.
  void end();

 private:
  EventSlots& slots_;
  EventSlots::Slot* slot_ = nullptr;
  EventHandle handle_;
};

}  // namespace hocket::nccl::measure
