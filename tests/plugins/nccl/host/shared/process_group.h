#pragma once

// One communicator as its ranks share it: the barrier of a collective, which compares what the
// ranks chose. It is made before the fork; the functions may be called by one thread a rank.

#include <atomic>
#include <cstdint>
#include <optional>

#include "tests/plugins/nccl/host/model/choice.h"
#include "tests/plugins/nccl/host/shared/shared_memory.h"

namespace hocket::nccl_host {

/// A rank's part in a collective.
struct Arrival {
  std::uint64_t sequence = 0;  ///< number of the collective within the communicator
  Shape shape = {};
  Choice choice = {};
  double ready_us = 0;  ///< the rank's time on the modelled clock
};

/// The arrivals of two ranks that differ.
struct Mismatch {
  int communicator = 0, ranks[2] = {};
  Arrival arrivals[2] = {};
};

/// The state that all groups of a run share.
struct RunState {
  static constexpr int kMismatches = 16;

  std::atomic<std::uint32_t> aborted{0};
  std::atomic<std::uint64_t> collectives{0}, mismatches{0};
  SharedMutex details;
  // Guarded by `details`.
  int kept_mismatches = 0;
  Mismatch kept[kMismatches] = {};
};

class ProcessGroup {
 public:
  struct Outcome {
    double start_us = 0;   ///< when the last rank was ready
    Arrival arrival = {};  ///< of the lowest rank that took part
  };

  /// `number` names the group in mismatches.
  void prepare(SharedArena& arena, RunState& run, int number, int ranks);

  /// Waits until all ranks that have not left brought theirs. Returns nothing once the run is
  /// aborted.
  std::optional<Outcome> meet(int rank, const Arrival& arrival);

  /// The rank takes part in no further collective.
  void leave(int rank);

  int number() const { return number_; }
  int ranks() const { return ranks_; }

 private:
  struct Seat {
    bool arrived = false, left = false;
    Arrival arrival = {};
  };

  void complete_if_all_arrived();
  void keep_mismatch(int first, int other);

  RunState* run_ = nullptr;
  Seat* seats_ = nullptr;
  int number_ = 0, ranks_ = 0;
  /// Rounds completed. Changes only under the lock; waiters read it without.
  std::atomic<std::uint32_t> round_{0};
  SharedMutex mutex_;
  // Guarded by mutex_. A rank reads outcome r % 2 before it can arrive at round r + 1, so round
  // r + 2 cannot overwrite it earlier.
  Outcome outcomes_[2] = {};
};

}  // namespace hocket::nccl_host
