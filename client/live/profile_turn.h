#pragma once

// Rank 0's side of profiles requested from a running job. Orders one profile at a time through the
// agreement, while no candidate is tried, so that a profile shows a single configuration. Pure; not
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "client/live/switch_agreement.h"
#include "core/protocol/job_message.h"

namespace hocket {

class ProfileTurn {
 public:
  /// `agreement` is rank 0's; it must outlive this object. Messages to the user number its first
  /// step `first_step`.
  ProfileTurn(SwitchAgreement& agreement, std::int64_t first_step)
      : agreement_(agreement), first_step_(first_step) {}

  /// Queues a request and replaces one that is waiting. Returns a line for the user if there is
  /// something to report.
  std::optional<std::string> ask(const ProfileMessage& message);

  /// Advances between steps. `may_begin`: nothing is being tried. Returns a line for the user if
  /// there is something to report.
  std::optional<std::string> advance(bool may_begin);

  /// Returns whether a profile is ordered and its last step is not done yet.
  bool is_busy() const { return order_.has_value(); }

  /// Ends at the end of the job. Returns a line for the user if there is something to report.
  std::optional<std::string> finish();

  /// Steps from the order to the first profiled step; leaves room for a few unreadable ballots.
  static constexpr int kStepsAhead = 8;
  /// Steps that may be under way when the last one has begun, and that its recording includes.
  static constexpr int kStepsAfter = 2;

 private:
  void order();

  SwitchAgreement& agreement_;
  const std::int64_t first_step_;
  std::optional<ProfileMessage> waiting_;
  // Request under way:
  ProfileMessage message_;
  std::optional<ProfileOrder> order_;
  bool is_known_ = false;  ///< true once all ranks know the order
};

}  // namespace hocket
