#pragma once

// Statistics of noisy measurements. Pure functions; thread-safe.

#include <span>
#include <vector>

namespace hocket {

/// Returns the p-quantile, 0 ≤ p ≤ 1, by linear interpolation between order statistics (type 7 of
/// Hyndman and Fan, The American Statistician 1996). Requires at least one value.
double quantile(std::vector<double> values, double p);

/// Requires at least one value.
double median(std::vector<double> values);

/// Returns half the interquartile range: (quantile 0.75 − quantile 0.25) / 2. It is 0.6745 standard
/// deviations for normal noise, and robust to outliers. 0 for a single value.
double spread(std::vector<double> values);

/// Returns the standard error of the median of `samples` normal values whose spread() is
/// `spread`: 1.2533 · (spread / 0.6745) / √samples. 0 for fewer than two samples, which give no
/// estimate.
double median_standard_error(double spread, std::size_t samples);

double mean(std::span<const double> values);

/// Returns the standard deviation with n − 1 in the denominator; 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

/// Returns the p-quantile of Student's t with `degrees` > 0 degrees of freedom.
double student_t_quantile(double p, double degrees);

/// Returns Kendall's rank correlation corrected for ties, τ-b (Kendall, Rank Correlation Methods,
/// 1948): from −1 (opposite order) to 1 (same order). 0 when all values on one side are equal.
/// Requires `a` and `b` of equal length.
double kendall_tau_b(std::span<const double> a, std::span<const double> b);

}  // namespace hocket
