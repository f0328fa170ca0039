#pragma once

// Decides when a running trial is bad enough to be ended: when its iterations so far are slower
// than those of the best trial. Pure functions; thread-safe.
//
// Like is compared with like: only iterations behind the warm-up that either of the two shows
// (tuner/trial/warm_up.h), and the trial must be slower than the incumbent's iterations at the same
// places, too, since a run may become faster all the time. While the trial's iterations become
// faster and the incumbent's did not at these places, the trial may be in a warm-up of its own that
// is not over, and goes on.
//
// Rule: a one-sided rank-sum test (core/base/rank_sum.h) compares the trial's first 5, 10, 20, 40,
// … samples behind the incumbent's warm-up with all samples of the incumbent behind it. A test that
// is repeated without correction eventually rejects, so the looks share the level: the k-th look
// has kEarlyEndLevel / 2^k (Bonferroni's inequality). Of the trials that are as fast as the
// incumbent at most a share of kEarlyEndLevel is ended, however long they run, provided that the
// samples of both are independent. The looks are at fixed counts, so the time at which the caller
// checks does not matter.

#include <cstddef>
#include <optional>
#include <span>

namespace hocket {

inline constexpr std::size_t kLeastSamples = 5;  ///< from each side, for the first look
inline constexpr double kEarlyEndLevel = 0.05;

/// Among the metrics of a trial that was ended early: the number of its samples.
inline constexpr const char* kEndedEarlyMetric = "ended_early";

/// The look that ends a trial.
struct EarlyEnd {
  double p = 0;             ///< p-value of the test
  std::size_t warm_up = 0;  ///< first samples of the trial that were not compared

  bool operator==(const EarlyEnd&) const = default;
};

/// Returns the first look that ends a trial with `samples` so far; nothing while the trial may go
/// on. Both are costs in order, those of the incumbent from the beginning of its run.
std::optional<EarlyEnd> early_end(std::span<const double> samples,
                                  std::span<const double> incumbent);

}  // namespace hocket
