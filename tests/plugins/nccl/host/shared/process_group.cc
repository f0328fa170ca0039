#include "tests/plugins/nccl/host/shared/process_group.h"

#include <algorithm>
#include <mutex>

namespace hocket::nccl_host {

void ProcessGroup::prepare(SharedArena& arena, RunState& run, int number, int ranks) {
  run_ = &run;
  number_ = number;
  ranks_ = ranks;
  seats_ = arena.make<Seat>(ranks);
}

std::optional<ProcessGroup::Outcome> ProcessGroup::meet(int rank, const Arrival& arrival) {
  if (run_->aborted) return std::nullopt;
  std::unique_lock lock(mutex_);
  const std::uint32_t round = round_;
  seats_[rank].arrival = arrival;
  seats_[rank].arrived = true;
  complete_if_all_arrived();
  while (round_ == round) {
    lock.unlock();
    // The limit is for an abort, which nobody wakes this group for.
    wait_for_change(round_, round, std::chrono::milliseconds(20));
    if (run_->aborted && round_ == round) return std::nullopt;
    lock.lock();
  }
  return outcomes_[round % 2];
}

void ProcessGroup::leave(int rank) {
  const std::scoped_lock lock(mutex_);
  seats_[rank].left = true;
  complete_if_all_arrived();
}

void ProcessGroup::complete_if_all_arrived() {
  int first = -1;
  Outcome outcome;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Seat& seat = seats_[rank];
    if (!seat.arrived && !seat.left) return;
    if (!seat.arrived) continue;
    if (first < 0) {
      first = rank;
      outcome = {.start_us = seat.arrival.ready_us, .arrival = seat.arrival};
    }
    outcome.start_us = std::max(outcome.start_us, seat.arrival.ready_us);
  }
  if (first < 0) return;
  for (int rank = first + 1; rank < ranks_; ++rank) {
    const Arrival& a = outcome.arrival;
    const Arrival& b = seats_[rank].arrival;
    if (!seats_[rank].arrived) continue;
    if (a.sequence == b.sequence && a.shape == b.shape && a.choice == b.choice) continue;
    keep_mismatch(first, rank);
    break;
  }
  // Without an algorithm it was only a barrier.
  if (outcome.arrival.choice.algorithm >= 0) ++run_->collectives;
  for (int rank = 0; rank < ranks_; ++rank) seats_[rank].arrived = false;
  outcomes_[round_ % 2] = outcome;
  ++round_;
  wake_all(round_);
}

void ProcessGroup::keep_mismatch(int first, int other) {
  ++run_->mismatches;
  const std::scoped_lock lock(run_->details);
  if (run_->kept_mismatches == RunState::kMismatches) return;
  run_->kept[run_->kept_mismatches++] = {
      .communicator = number_,
      .ranks = {first, other},
      .arrivals = {seats_[first].arrival, seats_[other].arrival}};
}

}  // namespace hocket::nccl_host
