#pragma once

// Covariance function and distance of the Gaussian processes. Pure; thread-safe.

#include <cmath>
#include <cstddef>
#include <vector>

namespace hocket {

/// Returns the Matérn covariance with smoothness 5/2 and unit variance at `distance`, in length
/// scales (Rasmussen and Williams, Gaussian Processes for Machine Learning, equation 4.17).
inline double matern_5_2(double distance) {
  const double r = std::sqrt(5.0) * distance;
  return (1 + r + r * r / 3) * std::exp(-r);
}

/// Distance between two categories in the unit cube.
inline constexpr double kCategoryDistance = 0.5;

/// Returns the distance: Euclidean in ordered dimensions, kCategoryDistance per categorical
/// dimension that differs.
inline double unit_distance(const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<bool>& categorical) {
  double squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = categorical[i] ? (a[i] == b[i] ? 0 : kCategoryDistance) : a[i] - b[i];
    squared += distance * distance;
  }
  return std::sqrt(squared);
}

}  // namespace hocket
