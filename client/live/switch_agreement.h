#pragma once

// The agreement by which all ranks of a job change their configuration at the same step. It uses
// the job's own collectives: every step sums a few floats over the ranks, the ballot. All ranks see
// the same sum and draw the same conclusions from it, so there is no state in which only some ranks
// have changed. A pure state machine, one per rank: no thread, no clock. Not thread-safe.
//
// Rank 0 proposes a payload, which is sent in chunks, one per ballot. A rank that has received all
// of it accepts or refuses it in its own slot of the next ballot. It is agreed in the first ballot
// in which rank 0 proposes it and all ranks accept it. From then on every rank holds it beside the
// running configuration, and rank 0 selects which of the two runs: a selection seen in ballot b
// takes effect at step b + 2. One rank may still be executing step b + 1 when another has read
// ballot b (Scheduler::kStepsAhead is 1), so no rank switches earlier, even one that knows earlier.
//
// A payload of n bytes that is proposed before ballot b is filled is agreed in ballot
// b + max(1, ⌈n / kChunkBytes⌉), and a selection before that ballot takes effect at step b + 2.
//
// Rank 0 also orders profiles: steps that all ranks are to record. Every ballot says how many steps
// ahead the newest order's first step is, until too few are left for a rank that learns of it late.
//
// Invariants, after the same ballot on every rank:
//  1. running(), other() and the received part of the proposal are the same;
//  2. running() and other() were accepted by all ranks, or are the initial configuration;
//  3. profile() is the same.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Steps that all ranks are to profile, numbered like ballots.
struct ProfileOrder {
  std::int64_t first_step = 0;
  int steps = 0;

  bool operator==(const ProfileOrder&) const = default;
};

class SwitchAgreement {
 public:
  struct Configuration {
    int id = 0;           ///< 0: the initial configuration; otherwise the id of its proposal
    std::string payload;  ///< the proposal's payload

    bool operator==(const Configuration&) const = default;
  };
  /// Checks that this rank can run with a payload. Called once all of it has been received.
  using Accept = std::function<Result<void>(const std::string& payload)>;

  enum class Standing {
    none,       ///< nothing proposed, or the proposal was withdrawn
    undecided,  ///< proposed, not decided yet
    agreed,     ///< the proposal is the other or the running configuration
    refused,    ///< refused by rank refused_by()
  };

  SwitchAgreement(int rank, int world_size, Accept accept);

  /// Returns the number of floats in a ballot; equal on all ranks.
  static std::size_t slots_for(int world_size) {
    return kHeader + kChunk + static_cast<std::size_t>(world_size);
  }
  std::size_t slots() const { return slots_for(world_size_); }

  /// Writes this rank's contribution to the next ballot. Alternates with tally(). Requires that
  /// `ballot` has slots() floats.
  void contribute(std::span<float> ballot) const;
  /// Reads the ballot summed over all ranks. A sum that correct ranks cannot have produced (NaN,
  /// fractions, numbers out of range) proposes and selects nothing.
  void tally(std::span<const float> sum);
  /// Returns the number of ballots tallied.
  std::int64_t ballots() const { return ballots_; }

  /// Returns the configuration that takes effect at step `step`, if there is one. Call it for every
  /// step in order, after ballot `step` − 2 was tallied.
  std::optional<Configuration> due(std::int64_t step);

  /// The configuration selected by the ballots so far, and the one held beside it.
  const Configuration& running() const { return running_; }
  const std::optional<Configuration>& other() const { return other_; }

  /// Returns the newest order to profile. Its `first_step` is at least kFewestStepsAhead after the
  /// ballot that first shows it, so no rank has begun that step.
  const std::optional<ProfileOrder>& profile() const { return profile_; }

  // For rank 0 only:

  /// Proposes a new other configuration and returns its id; replaces an undecided proposal.
  /// Requires at most kMaxPayloadBytes.
  int propose(std::string payload);
  /// Withdraws an undecided proposal. A ballot that is under way may still agree on it.
  void withdraw();
  /// Selects the configuration to run. Has no effect if the ranks no longer hold `id` when they see
  /// it.
  void select(int id) { selected_ = id; }
  /// State of the newest proposal.
  Standing standing() const { return standing_; }
  int refused_by() const { return refused_by_; }
  /// Orders a profile of `steps` steps, 1 to kMaxProfiledSteps, from `first_step` on, and replaces
  /// an order that no rank has seen. Requires that `first_step` is more than kFewestStepsAhead
  /// after ballots(), by at most kMaxId. If no ballot is readable until too late, the order is lost
  /// and profile() does not return it.
  void order_profile(std::int64_t first_step, int steps);

  static constexpr std::size_t kMaxPayloadBytes = 64 << 10;
  /// Payload floats of a ballot. Each carries two bytes, which stay exact in a sum with zeros.
  static constexpr std::size_t kChunk = 128;
  static constexpr std::size_t kChunkBytes = 2 * kChunk;
  static constexpr int kMaxId = (1 << 23) - 1;
  static constexpr int kMaxProfiledSteps = 10'000;
  static constexpr int kFewestStepsAhead = 3;

 private:
  /// Fields of a ballot. The chunk of the payload follows, then one slot per rank.
  enum Field : std::size_t {
    kProposal,
    kTotalBytes,
    kOffset,
    kSelected,
    kProfileAhead,
    kProfileSteps,
    kHeader
  };

  struct Ballot {
    int proposal = 0;
    std::size_t total_bytes = 0, offset = 0;
    int selected = 0;
    int profile_ahead = 0, profile_steps = 0;
  };
  /// A partly received proposal; the received part is the same on all ranks.
  struct Arriving {
    Configuration configuration;
    std::size_t total_bytes = 0;
    int own_answer = 0;  ///< the id if this rank accepts, −id if it refuses, 0 if not decided

    bool is_whole() const { return configuration.payload.size() == total_bytes; }
  };
  /// A selection seen in ballot `ballot`.
  struct Switch {
    std::int64_t ballot = 0;
    Configuration to;
  };

  static std::optional<Ballot> read(std::span<const float> sum);
  void run_selected(int id);
  void receive(const Ballot& ballot, std::span<const float> chunk);
  bool decided(std::span<const float> answers);
  void decide(Standing standing);

  const int rank_;
  const int world_size_;
  const Accept accept_;
  std::int64_t ballots_ = 0;
  Configuration running_;
  std::optional<Configuration> other_;
  std::optional<Arriving> arriving_;
  std::deque<Switch> switches_;
  std::optional<ProfileOrder> profile_;

  // Requests of rank 0:
  std::optional<Configuration> proposal_;
  int last_id_ = 0;
  int selected_ = 0;
  Standing standing_ = Standing::none;
  int refused_by_ = 0;
  std::optional<ProfileOrder> ordered_;
};

}  // namespace hocket
