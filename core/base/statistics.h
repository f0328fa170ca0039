#pragma once

// The few statistics that noisy measurements need. Pure functions; thread-safe.

#include <span>
#include <vector>

namespace hocket {

/// The p-quantile, 0 ≤ p ≤ 1, by linear interpolation between order statistics (type 7 of Hyndman
/// and Fan, The American Statistician 1996). Requires at least one value.
double quantile(std::vector<double> values, double p);

/// Requires at least one value.
double median(std::vector<double> values);

/// Half the interquartile range: (quantile 0.75 − quantile 0.25) / 2. For normal noise it is
/// 0.6745 standard deviations; one wild value hardly moves it. 0 for a single value.
double spread(std::vector<double> values);

/// Standard error of the median of `samples` normal values whose spread() is `spread`:
/// 1.2533 · (spread / 0.6745) / √samples. 0 for fewer than two samples, which tell nothing.
double median_standard_error(double spread, std::size_t samples);

double mean(std::span<const double> values);

/// With n − 1 in the denominator; 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

/// The p-quantile of Student's t with `degrees` > 0 degrees of freedom.
double student_t_quantile(double p, double degrees);

/// Kendall's rank correlation with ties accounted for, τ-b (Kendall, Rank Correlation Methods,
/// 1948): from −1 (opposite order) to 1 (the same). 0 when all values on one side are equal.
/// Requires as many `a` as `b`.
double kendall_tau_b(std::span<const double> a, std::span<const double> b);

}  // namespace hocket
