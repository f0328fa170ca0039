#pragma once

// The rank-sum test of whether the values of one sample are larger than those of another, for any
// distribution (Wilcoxon, Biometrics Bulletin 1945; Mann and Whitney, Annals of Mathematical
// Statistics 1947). Pure; thread-safe.

#include <span>

namespace hocket {

/// Returns the probability that the ranks of `slow` are as high as observed, or higher, if both
/// samples come from one distribution; low when `slow` has the larger values. Exact for at most 50
/// values in total, by the shift algorithm on midranks (Streitberg and Röhmel, Statistical Software
/// Newsletter 1986), with ties taken as observed. For more values it is the normal approximation,
/// corrected for ties and continuity (Lehmann, Nonparametrics, 1975, chapter 1). Requires at least
/// one value in each sample, all finite.
double rank_sum_p(std::span<const double> slow, std::span<const double> fast);

}  // namespace hocket
