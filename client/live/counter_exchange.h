#pragma once

// Brings what each rank counts in its iterations to rank 0, in slots of the ballots that the ranks
// sum anyway (client/live/live_ballot.h). A pure state machine, one per rank: no clock, no
// thread. Not thread-safe.
//
// A ballot has slots for at most kRanksPerBallot ranks. With more ranks they take turns: a round is
// as many ballots as it takes to hear all ranks, and in it they tell the means over the same steps,
// as many as a round has ballots. So the counters' share of a ballot does not grow with the job.
// Steps are numbered like ballots. Those that a round's ballots tell of end kLag steps before its
// first ballot: no rank has to know a step before it is measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/protocol/rank_counters.h"

namespace hocket {

class CounterExchange {
 public:
  static constexpr std::size_t kRanksPerBallot = 64, kCounters = 4;
  static constexpr std::int64_t kLag = 3;

  /// Requires `rank` within [0, world_size).
  CounterExchange(int rank, int world_size);

  /// Returns the number of floats; equal on all ranks. 0 in a job of one rank or of more than
  /// kMaxCountedRanks.
  static std::size_t slots_for(int world_size);
  std::size_t slots() const { return slots_for(world_size_); }

  /// Keeps what this rank counted in a step. Steps come in order; some may be missing. One that
  /// comes after the ballot that tells of it is lost.
  void add(std::int64_t step, const RankCounters& counters);

  /// Writes this rank's contribution to the next ballot: slots() floats.
  void contribute(std::span<float> ballot);
  /// Reads the slots summed over the ranks. Returns the counters of all ranks when a round is
  /// complete and some rank counted; the ranks that did not have kNotCounted. A value that no rank
  /// can have sent counts as none.
  std::optional<CountedSteps> tally(std::span<const float> sum);

 private:
  std::int64_t ballots_per_round() const;
  /// Returns the means over the steps of the round; nothing if none of them is known.
  std::optional<RankCounters> means(std::int64_t round) const;

  const int rank_;
  const int world_size_;
  std::int64_t contributed_ = 0, tallied_ = 0;  // ballots
  std::deque<std::pair<std::int64_t, RankCounters>> counted_;
  std::optional<RankCounters> own_;  // own counters in the round that is being contributed
  std::vector<RankCounters> heard_;  // all ranks' counters in the round that is being tallied
};

/// A time as a ballot carries it: a whole number below 2^23, above 0, exact to a microsecond up to
/// 4 s and to 256 µs up to 17 minutes; 0 for kNotCounted. Pure.
float slot_of_time(std::int64_t ns);
/// The reverse; kNotCounted for what slot_of_time() does not return.
std::int64_t time_of_slot(float slot);

}  // namespace hocket
