#pragma once

// Judges how good a profile is as a base for predictions: how far the times of its computations may
// be from those of a machine that does nothing else. Pure.
//
// Errors that do not depend on one another add up as squares. A good profile's computation is known
// to 5 %. Threads that waited for a processor for the share w of their time stretch computation by
// up to 1 / (1 − w). Iterations that scatter by s were disturbed by something that the median keeps
// a part of. Other processes that leave processors free still use caches, memory and the budget of
// heat.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

/// Observations made while a profile was recorded. Unknown figures are absent.
struct ProfileConditions {
  std::int64_t iterations = 0;  ///< whole iterations of the rank that predictions describe
  /// Relative scatter of their times: spread() / 0.6745 of the logarithms, a standard deviation
  /// that outliers do not move.
  double iteration_scatter = 0;
  /// Relative change of an iteration's time from the first half of the profile to the second.
  double drift = 0;
  /// Records of work that were lost, cannot be true or were cut, as a share of all.
  double lost_share = 0;
  /// Shares of profiler/session/host_use.h.
  std::optional<double> waiting_share = {}, others_share = {};
};

/// Returns the conditions that times of iterations show, in their order.
ProfileConditions conditions_of(std::span<const double> iteration_ns);

/// A factor of 1 is a good profile. A reason is given for each condition that adds a tenth or more
/// to the error.
StepQuality judge_profile(const ProfileConditions& conditions);

/// Factor from which a profile counts as poor, so that programs warn of it.
inline constexpr double kPoorUncertainty = 2;

}  // namespace hocket
