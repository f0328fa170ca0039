#pragma once

// When a trial that still runs is bad enough to end it: its iterations so far are slower than those
// of the best trial. Pure functions; thread-safe.
//
// The rule. One-sided rank-sum test (core/base/rank_sum.h) of the trial's first 5, 10, 20, 40, …
// samples against all of the incumbent's. A test that is repeated until it strikes strikes in the
// end, so the looks share the level: the k-th one has kEarlyEndLevel / 2^k (Bonferroni's
// inequality). Of trials that are as fast as the incumbent at most kEarlyEndLevel are ended,
// however long they run, as far as the samples of both are independent. The looks are at fixed
// counts, so it does not matter when // somebody looks.

#include <cstddef>
#include <optional>
#include <span>

namespace hocket {

inline constexpr std::size_t kLeastSamples = 5;  ///< of each, for a first look
inline constexpr double kEarlyEndLevel = 0.05;

/// The p of the first look at which a trial with `samples` so far, in order, was to end; nothing
/// while it goes on.
std::optional<double> early_end(std::span<const double> samples, std::span<const double> incumbent);

}  // namespace hocket
