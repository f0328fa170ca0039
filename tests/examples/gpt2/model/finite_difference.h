#pragma once

// Compares a gradient with central differences. Single-threaded.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace hocket {

/// Returns the derivative of `objective` with respect to `x` by the five-point rule (Abramowitz,
/// Stegun, Handbook of Mathematical Functions, section 25.3).
inline double derivative(float& x, double step, const std::function<double()>& objective) {
  const float at = x;
  const auto value = [&](double offset) {
    x = static_cast<float>(at + offset);
    return objective();
  };
  const double near = value(step) - value(-step), far = value(2 * step) - value(-2 * step);
  x = at;
  return (8 * near - far) / (12 * step);
}

/// Expects every entry of `gradient` to be the derivative of `objective` with respect to the same
/// entry of `values`, within `tolerance` of the largest entry. Each difference is taken at two step
/// sizes, which must agree, too, so that the reference itself is known to this accuracy.
inline void expect_gradient(std::span<float> values, std::span<const float> gradient,
                            const std::function<double()>& objective, double tolerance = 2e-3,
                            double step = 2e-2) {
  ASSERT_EQ(values.size(), gradient.size());
  std::vector<double> coarse, fine;
  double scale = 0;
  for (float& value : values) {
    coarse.push_back(derivative(value, step, objective));
    fine.push_back(derivative(value, step / 2, objective));
    scale = std::max(scale, std::abs(fine.back()));
  }
  ASSERT_GT(scale, 1e-3) << "a gradient of nothing but zeros shows nothing";
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(coarse[i], fine[i], tolerance * scale)
        << "the differences are too coarse at entry " << i;
    EXPECT_NEAR(gradient[i], fine[i], tolerance * scale)
        << "entry " << i << " of " << values.size();
  }
}

}  // namespace hocket
