#pragma once

// How all ranks of a job change their configuration at one step. The agreement rides on the job's
// own collectives: every step sums a few floats over the ranks, the ballot. All ranks see the same
// sum and draw the same conclusions from it, so there is no state in which some ranks have changed
// and others have not. A pure state machine, one a rank: no thread, no clock. Not thread-safe.
//
// Rank 0 proposes a payload, which travels in pieces, one a ballot. A rank that has it whole
// accepts it or refuses it in its own slot of the next ballot. It is agreed in the first ballot in
// which rank 0 proposes it and all ranks accept it. Then every rank holds it beside the
// configuration that runs, and rank 0 selects which of the two runs: seen in ballot b, it runs from
// step b + 2 on. A rank may still be at work on step b + 1 when another knows ballot b
// (Scheduler::kStepsAhead is 1), so none acts earlier, even one that knows earlier.
//
// A payload of n bytes that is proposed before ballot b is contributed to is agreed in ballot
// b + max(1, ⌈n / kChunkBytes⌉), and a selection before that ballot takes effect at step b + 2.
//
// Rank 0 also orders profiles: steps that all ranks are to record. Every ballot says how far ahead
// the newest order's first step is, until too few steps are left for a rank that hears of it late.
//
// Invariants, after the same ballot on every rank:
//  1. running(), other() and the piece of the proposal that has arrived are the same;
//  2. running() and other() were accepted by all ranks, or there from the start;
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

/// Steps that all ranks are to profile, counted as ballots are.
struct ProfileOrder {
  std::int64_t first_step = 0;
  int steps = 0;

  bool operator==(const ProfileOrder&) const = default;
};

class SwitchAgreement {
 public:
  struct Configuration {
    int id = 0;           ///< 0: the one from the start; otherwise its proposal's
    std::string payload;  ///< of a proposal

    bool operator==(const Configuration&) const = default;
  };
  /// Whether this rank can run with a payload; called once it has arrived whole.
  using Accept = std::function<Result<void>(const std::string& payload)>;

  enum class Standing {
    none,       ///< nothing proposed, or it was withdrawn
    undecided,  ///< under way
    agreed,     ///< it is the other configuration, or runs
    refused,    ///< by the rank that refused_by() names
  };

  SwitchAgreement(int rank, int world_size, Accept accept);

  /// Floats of a ballot; the same on every rank.
  static std::size_t slots_for(int world_size) {
    return kHeader + kChunk + static_cast<std::size_t>(world_size);
  }
  std::size_t slots() const { return slots_for(world_size_); }

  /// This rank's part of the next ballot. Alternates with tally(); `ballot` has slots() floats.
  void contribute(std::span<float> ballot) const;
  /// The sum over all ranks. One that no ranks of this kind can have made (NaN, fractions, numbers
  /// out of range) proposes and selects nothing.
  void tally(std::span<const float> sum);
  /// Ballots tallied.
  std::int64_t ballots() const { return ballots_; }

  /// The configuration that takes over at step `step`, if one does. Call it for every step in turn,
  /// with ballot `step` − 2 tallied.
  std::optional<Configuration> due(std::int64_t step);

  /// What the ballots so far say is to run, and what is held beside it.
  const Configuration& running() const { return running_; }
  const std::optional<Configuration>& other() const { return other_; }

  /// The newest order to profile. In the ballot that first shows it, `first_step` is at least
  /// kFewestStepsAhead later than the ballot's own, so no rank has begun it.
  const std::optional<ProfileOrder>& profile() const { return profile_; }

  // Rank 0 alone:

  /// Brings a new other configuration in place of an undecided one, and gives its id. At most
  /// kMaxPayloadBytes.
  int propose(std::string payload);
  /// Ends an undecided proposal. A ballot that is under way may still agree on it.
  void withdraw();
  /// Says which configuration is to run. Without effect if the id is held no more when it is seen.
  void select(int id) { selected_ = id; }
  /// Of the newest proposal.
  Standing standing() const { return standing_; }
  int refused_by() const { return refused_by_; }
  /// Orders steps from `first_step` on, more than kFewestStepsAhead from ballots() and at most
  /// kMaxId, in place of an order that nobody has seen; `steps` from 1 to kMaxProfiledSteps. It is
  /// lost when no ballot can be read until it is too late; then profile() does not become it.
  void order_profile(std::int64_t first_step, int steps);

  static constexpr std::size_t kMaxPayloadBytes = 64 << 10;
  /// Payload floats of a ballot: two bytes each, which a sum with zeros keeps exact.
  static constexpr std::size_t kChunk = 128;
  static constexpr std::size_t kChunkBytes = 2 * kChunk;
  static constexpr int kMaxId = (1 << 23) - 1;
  static constexpr int kMaxProfiledSteps = 10'000;
  static constexpr int kFewestStepsAhead = 3;

 private:
  /// Fields of a ballot before the chunk; the ranks' slots are behind it.
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
  /// A proposal as far as it has arrived, which all ranks know alike.
  struct Arriving {
    Configuration configuration;
    std::size_t total_bytes = 0;
    int own_answer = 0;  ///< the id when this rank accepts it, −id when it refuses, 0 before

    bool is_whole() const { return configuration.payload.size() == total_bytes; }
  };
  /// A selection that ballot `ballot` showed.
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

  // Rank 0's wishes:
  std::optional<Configuration> proposal_;
  int last_id_ = 0;
  int selected_ = 0;
  Standing standing_ = Standing::none;
  int refused_by_ = 0;
  std::optional<ProfileOrder> ordered_;
};

}  // namespace hocket
