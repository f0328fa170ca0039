#include "profiler/metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostExactDraws = 200, kMostExactValues = 256;

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

}  // namespace

double uniform_sum_tail(std::int64_t draws, std::int64_t n, std::int64_t sum) {
  if (sum <= 0) return 1;
  if (sum > draws * (n - 1)) return 0;
  if (draws > kMostExactDraws || n > kMostExactValues) {
    const auto count = static_cast<double>(draws), values = static_cast<double>(n);
    const double variance = count * (values * values - 1) / 12;
    return normal_tail((static_cast<double>(sum) - 0.5 - count * (values - 1) / 2) /
                       std::sqrt(variance));
  }
  // Probability of each sum of the draws so far; a running sum adds one draw.
  const auto size = static_cast<std::size_t>(draws * (n - 1) + 1);
  std::vector<double> probability(size), next(size);
  probability[0] = 1;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    double window = 0;
    for (std::size_t i = 0; i < size; ++i) {
      window += probability[i];
      if (i >= static_cast<std::size_t>(n)) window -= probability[i - static_cast<std::size_t>(n)];
      next[i] = std::max(window, 0.0) / static_cast<double>(n);
    }
    probability.swap(next);
  }
  // By symmetry the tail equals the head, which has no cancellation from the running sum's start.
  const auto head = probability.begin() + static_cast<std::ptrdiff_t>(size) - sum;
  return std::min(std::accumulate(probability.begin(), head, 0.0), 1.0);
}

std::vector<double> drawn_sum_tails(std::span<const std::int64_t> weights, double p) {
  const auto all = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<double> tails(static_cast<std::size_t>(all) + 1);
  tails[0] = 1;
  std::size_t most = 0;
  for (const std::int64_t weight : weights) {
    const auto by = static_cast<std::size_t>(weight);
    if (by == 0) continue;
    most += by;
    for (std::size_t sum = most + 1; sum-- > 0;)
      tails[sum] = (1 - p) * tails[sum] + (sum >= by ? p * tails[sum - by] : 0);
  }
  for (std::size_t sum = most; sum-- > 0;) tails[sum] += tails[sum + 1];
  return tails;
}

double trend_chance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 3) return 1;
  std::vector<double> order(values.size());
  std::iota(order.begin(), order.end(), 0.0);
  const double tau = kendall_tau_b(order, values);
  const double deviation = std::sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)));
  return std::min(1.0, 2 * normal_tail(std::abs(tau) / deviation));
}

double median_slope(std::span<const double> values) {
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

std::vector<double> holm_corrected(std::span<const double> chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return chances[i]; });
  std::vector<double> corrected(chances.size());
  double highest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto left = static_cast<double>(order.size() - i);
    highest = std::max(highest, std::min(1.0, left * chances[order[i]]));
    corrected[order[i]] = highest;
  }
  return corrected;
}

}  // namespace hocket
