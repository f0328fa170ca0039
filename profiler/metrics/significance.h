#pragma once

// Tests of whether chance alone would make one rank late so often. Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

/// Returns the probability that the sum of `draws` independent numbers, each uniform on 0 … n − 1,
/// is at least `sum`. Exact for up to 200 draws and n up to 256; otherwise the normal approximation
/// with a correction for continuity. Requires draws ≥ 0 and n ≥ 1.
double uniform_sum_tail(std::int64_t draws, std::int64_t n, std::int64_t sum);

/// Returns for each sum from 0 to that of all `weights` the probability that those drawn sum to at
/// least it, if each is drawn with probability `p` independently of the others: the distribution of
/// a randomization test (Fisher, The Design of Experiments, 1935, section 21). Exact, in time
/// weights · sum. Requires weights ≥ 0 and 0 < p < 1.
std::vector<double> drawn_sum_tails(std::span<const std::int64_t> weights, double p);

/// Returns the probability that values without a trend have a rank correlation with their order as
/// far from 0 as that of `values` (Mann, Econometrica 1945), by the normal approximation.
double trend_chance(std::span<const double> values);

/// Returns the median slope between any two values (Theil 1950; Sen, Journal of the American
/// Statistical Association 1968), per place; 0 for fewer than two.
double median_slope(std::span<const double> values);

/// Returns the probabilities corrected for their number (Holm, Scandinavian Journal of Statistics
/// 1979), in the same order: to blame those below α errs at all with a probability of at most α.
std::vector<double> holm_corrected(std::span<const double> chances);

}  // namespace hocket
