#pragma once

// Finds the warm-up of a run: compilation, autotuning and cold caches make its first iterations
// slower than the rest, whatever its setting. Pure functions; thread-safe.
//
// Rule: the second half of a run says what its iterations take. The warm-up is the longest
// beginning, within the first half, of which every iteration costs more than 95 % of the second
// half, and more than its median by a tenth and by five times its spread. Runs without a warm-up
// rarely lose an iteration by that, and then one that is hardly to be seen in their median.

#include <cstddef>
#include <span>
#include <vector>

#include "core/protocol/trial_outcome.h"
#include "tuner/trial/objective.h"

namespace hocket {

/// A run with fewer samples does not show its warm-up.
inline constexpr std::size_t kLeastForWarmUp = 6;

/// The samples of a warm-up, which do not count, among the metrics of a trial.
inline constexpr const char* kWarmUpMetric = "warm_up";

/// Returns the samples of the objective from the beginning of the run, those of its warm-up
/// included.
std::vector<double> whole_run(const TrialOutcome& outcome);

/// Returns how many of the first samples are warm-up, at most half of them. `costs` are those of a
/// run, in order.
std::size_t warm_up_of(std::span<const double> costs);

/// Returns the measurement without the first `count` samples, of which there must be more.
ObjectiveMeasurement without_first(ObjectiveMeasurement measured, std::size_t count);

}  // namespace hocket
