#pragma once

// Measures the collectives of one communicator: counts launches always, times by the kernels'
// channel timers within windows. Meters are never freed but taken from a pool and given back,
// because events may arrive when the communicator is gone.
//
// want_channel_times(), pop() and the readers are for the communicator's background thread; the
// events and called() for NCCL's threads. No event takes a lock, allocates or waits.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "plugins/nccl/measure/event_mask.h"
#include "plugins/nccl/measure/event_slots.h"
#include "plugins/nccl/measure/measured_collective.h"

namespace hocket::nccl::measure {

class CollectiveMeter {
 public:
  CollectiveMeter(int number, EventMask& mask) : slots_(number), mask_(mask) {}

  /// Opens or closes the window in which collectives are timed. The channel events cost all
  /// communicators of the process something while any window is open. Collectives that are under
  /// way when a window closes are still finished. Does nothing where no profiler is loaded.
  void want_channel_times(bool wanted);
  /// Asks for no events of this communicator any more, until it is closed.
  void silence();
  bool wants_channel_times() const { return wanted_.load(std::memory_order_relaxed); }
  /// Returns whether NCCL has loaded the profiler, without which no times are to be had.
  bool has_profiler() const { return has_profiler_.load(std::memory_order_relaxed); }

  /// Takes the next finished collective; false if there is none. One thread at a time.
  bool pop(MeasuredCollective& collective) { return slots_.ring().pop(collective, epoch()); }

  MeasuringLosses losses() const;

  /// Notes that this thread makes NCCL's calls of the communicator.
  void called() { calling_thread_.store(this_thread(), std::memory_order_relaxed); }

  /// Counts a collective that NCCL launches. Those of a replayed graph come from a thread of
  /// CUDA's, at any time, and do not count.
  void launched() {
    if (calling_thread_.load(std::memory_order_relaxed) != this_thread()) return;
    launches_.store(launches() + 1, std::memory_order_relaxed);
  }
  /// Returns how many collectives were launched by the thread that calls, up to now: on all ranks
  /// equal at equal places of the program. Calls that NCCL only simulates are not launched.
  std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }

  /// Returns the handle for a collective that starts, to be given to NCCL; null if no slot is free.
  void* start_collective(const MeasuredCollective& announced, void* chained);
  EventSlots& slots() { return slots_; }

  /// For the owner of the pool: begins and ends the use by a communicator.
  void open();
  void profiler_opened();
  /// Closes the window and makes all handles stale.
  void profiler_closed();

 private:
  void set_window(bool wanted);
  static const void* this_thread() {
    static thread_local char here;
    return &here;
  }
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  EventSlots slots_;
  EventMask& mask_;
  std::mutex window_mutex_;  // guards is_silent_ and changes of the next two members
  bool is_silent_ = false;
  std::atomic<bool> wanted_{false}, has_profiler_{false};
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<const void*> calling_thread_{nullptr};
  std::atomic<std::uint64_t> launches_{0};
  MeasuringLosses before_;  // at open()
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
