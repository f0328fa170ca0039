#pragma once

// Rank 0's side of profiles that somebody asks a running job for: one at a time, ordered through
// the agreement while nothing else is tried, so that a profile shows one configuration. Pure; not
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/protocol/job_message.h"
#include "tuner/client/live/switch_agreement.h"

namespace hocket {

class ProfileTurn {
 public:
  /// `agreement` is rank 0's, and outlives this. Lines for people call its first step `first_step`.
  ProfileTurn(SwitchAgreement& agreement, std::int64_t first_step)
      : agreement_(agreement), first_step_(first_step) {}

  /// A request that waits already is replaced. A line for people, when there is something to say.
  std::optional<std::string> ask(const ProfileMessage& message);

  /// Goes on, between steps; `may_begin`: nothing is being tried. A line for people, when there is
  /// something to say.
  std::optional<std::string> advance(bool may_begin);

  /// From the order until its last step is done.
  bool is_busy() const { return order_.has_value(); }

  /// The job ends. A line for people, when there is something to say.
  std::optional<std::string> finish();

  /// Steps from the order to the first one: some ballots may be lost meanwhile.
  static constexpr int kStepsAhead = 8;
  /// Steps that are under way when the last one has begun, and belong to what is recorded of it.
  static constexpr int kStepsAfter = 2;

 private:
  void order();

  SwitchAgreement& agreement_;
  const std::int64_t first_step_;
  std::optional<ProfileMessage> waiting_;
  // Of the request under way:
  ProfileMessage message_;
  std::optional<ProfileOrder> order_;
  bool is_known_ = false;  ///< to all ranks
};

}  // namespace hocket
