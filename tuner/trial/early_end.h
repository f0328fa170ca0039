#pragma once

// Decides when a running trial is bad enough to be ended: when its iterations so far are slower
// than those of the best trial. Pure functions; thread-safe.
//
// Rule: a one-sided rank-sum test (core/base/rank_sum.h) compares the trial's first 5, 10, 20, 40,
// … samples with all samples of the incumbent. A test that is repeated without correction
// eventually rejects, so the looks share the level: the k-th look has kEarlyEndLevel / 2^k
// (Bonferroni's inequality). Of the trials that are as fast as the incumbent at most a share of
// kEarlyEndLevel is ended, however long they run, provided that the samples of both are
// independent. The looks are at fixed counts, so the time at which the caller checks does not
// matter.

#include <cstddef>
#include <optional>
#include <span>

namespace hocket {

inline constexpr std::size_t kLeastSamples = 5;  ///< from each side, for the first look
inline constexpr double kEarlyEndLevel = 0.05;

/// Returns the p-value of the first look that ends a trial with `samples` so far, in order; nothing
/// while the trial may go on.
std::optional<double> early_end(std::span<const double> samples, std::span<const double> incumbent);

}  // namespace hocket
