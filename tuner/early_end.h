#pragma once

// When a trial that still runs is bad enough to end it: its iterations so far are slower than those
// of the best trial. Pure functions; thread-safe.
//
// The rule. One-sided rank-sum test (Wilcoxon, Biometrics Bulletin 1945; Mann and Whitney, Annals
// of Mathematical Statistics 1947) of the trial's first 5, 10, 20, 40, … samples against all of the
// incumbent's. A test that is repeated until it strikes strikes in the end, so the looks share the
// level: the k-th one has kEarlyEndLevel / 2^k (Bonferroni's inequality). Of trials that are as
// fast as the incumbent at most kEarlyEndLevel are ended, however long they run, as far as the
// samples of both are independent. The looks are at fixed counts, so it does not matter when
// somebody looks.

#include <cstddef>
#include <optional>
#include <span>

namespace hocket {

inline constexpr std::size_t kLeastSamples = 5;  ///< of each, for a first look
inline constexpr double kEarlyEndLevel = 0.05;

/// The probability that, were `slow` and `fast` of one distribution, the ranks of `slow` would be
/// as high as they are or higher; low when `slow` has the larger values. With at most 50 values in
/// all it is exact, by the shift algorithm on midranks (Streitberg and Röhmel, Statistical Software
/// Newsletter 1986), with ties as they are; with more, normal, corrected for ties and continuity
/// (Lehmann, Nonparametrics, 1975, chapter 1). Requires one value of each, all of them finite.
double rank_sum_p(std::span<const double> slow, std::span<const double> fast);

/// The p of the first look at which a trial with `samples` so far, in order, was to end; nothing
/// while it goes on.
std::optional<double> early_end(std::span<const double> samples, std::span<const double> incumbent);

}  // namespace hocket
