#pragma once

// Measures the collectives of one communicator as far as it is told to: counts launches, and times
// by the kernels' channel timers. Meters are never freed but taken from a pool and given back,
// because events may arrive when the communicator is gone.
//
// ask_for(), launched() and called() are for the thread that makes NCCL's calls, pop() and the
// readers for the communicator's background thread, and the events for NCCL's threads. No event
// takes a lock, allocates or waits.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "plugins/nccl/interface/nccl_interface.h"
#include "plugins/nccl/measure/event_mask.h"
#include "plugins/nccl/measure/event_slots.h"
#include "plugins/nccl/measure/measured_collective.h"
#include "plugins/nccl/tuning/events.h"

namespace hocket::nccl::measure {

class CollectiveMeter {
 public:
  CollectiveMeter(int number, EventMask& mask) : slots_(number), mask_(mask) {}

  /// Asks NCCL for these events from its next call on; for none at first. Counting begins at 0. The
  /// channel events cost all communicators of the process something while any of them is timed.
  /// Collectives that are under way when timing ends are still finished. Does nothing where no
  /// profiler is loaded.
  void ask_for(Events events);
  Events events() const { return events_.load(std::memory_order_relaxed); }
  /// Returns whether NCCL has loaded the profiler, without which no times are to be had.
  bool has_profiler() const { return has_profiler_.load(std::memory_order_relaxed); }

  /// Takes the next finished collective; false if there is none. One thread at a time.
  bool pop(MeasuredCollective& collective) { return slots_.ring().pop(collective, epoch()); }

  MeasuringLosses losses() const;

  /// Notes that this thread makes NCCL's calls of the communicator.
  void called() { calling_thread_.store(this_thread(), std::memory_order_relaxed); }

  /// Counts a collective that NCCL launches. Those of a replayed graph come from a thread of
  /// CUDA's, at any time, and do not count. `number` is NCCL's: how many of this function there
  /// were before, also while nothing was reported. Counting begins with it, so that a rank that
  /// has made a call more than others is told from them, whenever that was.
  void launched(std::uint64_t number) {
    if (events() < Events::counted) return;
    if (calling_thread_.load(std::memory_order_relaxed) != this_thread()) return;
    launches_.store((launches() == 0 ? number : launches()) + 1, std::memory_order_relaxed);
  }
  /// Returns how many collectives were launched by the thread that calls, from the first one that
  /// was counted on, which counts with its number: on all ranks equal at equal places of the
  /// program. Calls that NCCL only simulates are not launched.
  std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }

  /// Makes NCCL's number of a timed collective one that is equal on all ranks: NCCL counts only
  /// while events are asked for, which each process may do at other times for another communicator.
  /// Numbers rise, through all times at which collectives were timed. Returns false if the number
  /// is not known: a replayed graph that comes before the calls.
  bool renumber(MeasuredCollective& collective);

  /// Returns the handle for a collective that starts, to be given to NCCL; null if no slot is free.
  void* start_collective(const MeasuredCollective& announced, void* chained);
  EventSlots& slots() { return slots_; }

  /// For the owner of the pool: begins and ends the use by a communicator.
  void open();
  void profiler_opened();
  /// Asks for no events and makes all handles stale.
  void profiler_closed();

 private:
  /// Requires mutex_.
  void change(Events events);
  static const void* this_thread() {
    static thread_local char here;
    return &here;
  }
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  EventSlots slots_;
  EventMask& mask_;
  std::mutex mutex_;  // guards changes of the next two members
  std::atomic<Events> events_{Events::none};
  std::atomic<bool> has_profiler_{false};
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<const void*> calling_thread_{nullptr};
  std::atomic<std::uint64_t> launches_{0};
  /// NCCL's number of the first collective of each function since timing began.
  std::array<std::atomic<std::uint64_t>, abi::kFunctions> first_numbers_;
  std::atomic<std::uint64_t> timings_{0};  ///< how often timing has begun
  MeasuringLosses before_;                 // at open()
};

/// The meters of a process. Thread-safe; at() takes no lock.
class MeterPool {
 public:
  explicit MeterPool(EventMask& mask) : mask_(mask) {}
  // Never destroyed in a process: events may come at any time. Tests do without them.
  ~MeterPool();
  MeterPool(const MeterPool&) = delete;
  MeterPool& operator=(const MeterPool&) = delete;

  /// Returns a meter for a communicator; null if all are taken.
  CollectiveMeter* take();
  void give_back(CollectiveMeter* meter);

  /// Returns the meter of a handle, also if its communicator is gone; null if it never was one.
  CollectiveMeter* at(int number) const {
    if (number < 0 || number >= kMeters) return nullptr;
    return meters_[static_cast<std::size_t>(number)].load(std::memory_order_acquire);
  }

 private:
  EventMask& mask_;
  std::array<std::atomic<CollectiveMeter*>, kMeters> meters_{};
  std::mutex mutex_;  // guards the members below, and additions to meters_
  std::array<bool, kMeters> is_taken_{};
};

}  // namespace hocket::nccl::measure
