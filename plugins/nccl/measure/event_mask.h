#pragma once

// The set of events that NCCL reports. NCCL has one mask per process and reads it again and again,
// so that it can change at any time. Several communicators share it: the mask is what the chained
// profiler wants, and what any of the communicators does. Thread-safe; refresh() never waits.

#include <atomic>
#include <mutex>
#include <vector>

#include "plugins/nccl/tuning/events.h"

namespace hocket::nccl::measure {

class EventMask {
 public:
  /// From now on `nccl_mask` is kept up to date; to be called once for each communicator. A null
  /// mask is ignored. Each copy of NCCL in the process has a mask of its own.
  void attach(int* nccl_mask);
  /// The last detach() of a mask leaves it with what the chained profiler wants. It is not touched
  /// after that.
  void detach(int* nccl_mask);

  /// A communicator asks for other events than before; at first each asks for none.
  void change(Events before, Events now);

  /// The mask that the chained profiler writes; it may do so at any time.
  int* chained() { return &chained_; }
  int chained_events() const { return __atomic_load_n(&chained_, __ATOMIC_RELAXED); }

  /// Takes over what the chained profiler has changed. Cheap if nothing has changed. While another
  /// thread changes the mask this is left to the next call.
  void refresh() {
    if (chained_events() != written_chained_.load(std::memory_order_relaxed)) try_write();
  }

 private:
  struct Target {
    int* mask = nullptr;
    int users = 0;
  };

  void try_write();
  void write();

  int chained_ = 0;  // accessed with atomic operations, also by others
  std::atomic<int> written_chained_{0};

  std::mutex mutex_;             // guards the members below, and writes to NCCL's masks
  int asking_ = 0, timing_ = 0;  // communicators
  std::vector<Target> targets_;
};

}  // namespace hocket::nccl::measure
