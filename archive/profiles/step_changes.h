#pragma once

// Changes to a step before it is simulated: other ranks, links and devices. Pure functions;
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/calibrate_profile.h"
#include "core/base/result.h"
#include "core/description/step_description.h"

namespace hocket {

/// Changes to a description; empty members change nothing.
struct StepChanges {
  std::optional<std::int64_t> ranks, ranks_per_host, seed;
  std::vector<std::string> links;  ///< "host=10gbit,20us" or "network=…"
  std::optional<CollectiveAlgorithm> algorithm;
  /// Factor on all times of computations: 0.5 for devices that compute twice as fast.
  std::optional<double> compute_scale;
  /// Factor on the bandwidth of all links: 2 for links that are twice as fast.
  std::optional<double> bandwidth_scale = {};

  bool is_empty() const { return *this == StepChanges{}; }
  bool operator==(const StepChanges&) const = default;
};

/// Limits of both factors.
inline constexpr double kLeastComputeScale = 0.001, kMostComputeScale = 1000;

/// Returns the step of a measured job with the changes applied. With other ranks or links, the
/// measured links replace those not given. invalid_argument names a tier without a link.
Result<StepDescription> change_measured_step(const Calibration& calibration,
                                             const StepChanges& changes);

/// Applies the changes; the result is valid. Returns invalid_argument also if ranks use a tier
/// without a link.
Result<void> change_step(StepDescription& step, const StepChanges& changes);

}  // namespace hocket
