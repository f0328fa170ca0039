#pragma once

// The rank-sum test: whether values are larger than others, whatever their distribution (Wilcoxon,
// Biometrics Bulletin 1945; Mann and Whitney, Annals of Mathematical Statistics 1947). Pure;
// thread-safe.

#include <span>

namespace hocket {

/// The probability that, were `slow` and `fast` of one distribution, the ranks of `slow` would be
/// as high as they are or higher; low when `slow` has the larger values. With at most 50 values in
/// all it is exact, by the shift algorithm on midranks (Streitberg and Röhmel, Statistical Software
/// Newsletter 1986), with ties as they are; with more, normal, corrected for ties and continuity
/// (Lehmann, Nonparametrics, 1975, chapter 1). Requires one value of each, all of them finite.
double rank_sum_p(std::span<const double> slow, std::span<const double> fast);

}  // namespace hocket
