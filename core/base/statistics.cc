#include "core/base/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/base/check.h"

namespace hocket {

double quantile(std::vector<double> values, double p) {
  HOCKET_CHECK(!values.empty() && p >= 0 && p <= 1, "a quantile of something");
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<std::size_t>(below)];
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  const double high = *std::min_element(values.begin() + below + 1, values.end());
  return low * (1 - fraction) + high * fraction;
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double spread(std::vector<double> values) {
  const double low = quantile(values, 0.25);
  return quantile(std::move(values), 0.75) / 2 - low / 2;
}

double median_standard_error(double spread, std::size_t samples) {
  constexpr double kMedianOverMean = 1.2533141373155003;  // √(π/2)
  constexpr double kSpreadOfNormal = 0.6744897501960817;
  if (samples < 2) return 0;
  return kMedianOverMean * spread / kSpreadOfNormal / std::sqrt(static_cast<double>(samples));
}

double mean(std::span<const double> values) {
  HOCKET_CHECK(!values.empty(), "a mean of something");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double student_t_quantile(double p, double degrees) {
  HOCKET_CHECK(p > 0 && p < 1 && degrees > 0, "a quantile of Student's t");
  return boost::math::quantile(boost::math::students_t(degrees), p);
}

double kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  HOCKET_CHECK(a.size() == b.size(), "pairs of values");
  const auto order = [](double x, double y) { return (x > y) - (x < y); };
  double agreement = 0, untied_a = 0, untied_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int in_a = order(a[i], a[j]), in_b = order(b[i], b[j]);
      agreement += in_a * in_b;
      untied_a += in_a != 0;
      untied_b += in_b != 0;
    }
  }
  return agreement == 0 ? 0 : agreement / std::sqrt(untied_a * untied_b);
}

}  // namespace hocket
