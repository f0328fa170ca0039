#include "core/base/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Maximum number of values for which counts of subsets, at most 50!/25!², are exact in a double.
constexpr std::size_t kExactLimit = 50;

struct Ranked {
  /// Twice the rank of each value. Tied values share the mean of their ranks; doubling makes it an
  /// integer.
  std::vector<std::int64_t> doubled_ranks;
  /// Sum of doubled ranks of the first sample.
  std::int64_t doubled_sum = 0;
  double tie_term = 0;  ///< Σ (t³ − t) over groups of t equal values
};

Ranked rank(std::span<const double> first, std::span<const double> second) {
  struct Value {
    double value;
    bool is_first;
  };
  std::vector<Value> values;
  values.reserve(first.size() + second.size());
  for (const double value : first) values.push_back({value, true});
  for (const double value : second) values.push_back({value, false});
  std::ranges::sort(values, {}, &Value::value);
  Ranked ranked;
  for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
    while (end < values.size() && values[end].value == values[begin].value) ++end;
    const auto shared = static_cast<std::int64_t>(begin + 1 + end);  // first plus last rank
    const auto ties = static_cast<double>(end - begin);
    ranked.tie_term += ties * ties * ties - ties;
    for (std::size_t i = begin; i < end; ++i) {
      ranked.doubled_ranks.push_back(shared);
      if (values[i].is_first) ranked.doubled_sum += shared;
    }
  }
  return ranked;
}

/// Counts, rank by rank, the subsets of each size by their sum. Returns the share of subsets of
/// `size` whose sum is at least the observed one.
double exact_p(const Ranked& ranked, std::size_t size) {
  const auto& ranks = ranked.doubled_ranks;
  std::int64_t largest = 0;
  for (std::size_t i = ranks.size() - size; i < ranks.size(); ++i) largest += ranks[i];
  const auto width = static_cast<std::size_t>(largest) + 1;
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(width, 0.0));
  ways[0][0] = 1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks[i]);
    for (std::size_t chosen = std::min(size, i + 1); chosen > 0; --chosen) {
      for (std::size_t sum = rank; sum < width; ++sum) {
        ways[chosen][sum] += ways[chosen - 1][sum - rank];
      }
    }
  }
  double all = 0, as_large = 0;
  for (std::size_t sum = 0; sum < width; ++sum) {
    all += ways[size][sum];
    if (sum >= static_cast<std::size_t>(ranked.doubled_sum)) as_large += ways[size][sum];
  }
  return as_large / all;
}

double normal_p(const Ranked& ranked, std::size_t slow, std::size_t fast) {
  const auto m = static_cast<double>(slow), n = static_cast<double>(fast), total = m + n;
  const double variance = m * n / 12 * (total + 1 - ranked.tie_term / (total * (total - 1)));
  if (!(variance > 0)) return 1;
  const double mean = m * (total + 1) / 2;
  const double sum = static_cast<double>(ranked.doubled_sum) / 2;
  const double z = (sum - mean - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::numbers::sqrt2) / 2;
}

}  // namespace

double rank_sum_p(std::span<const double> slow, std::span<const double> fast) {
  HOCKET_CHECK(!slow.empty() && !fast.empty(), "two samples");
  const Ranked ranked = rank(slow, fast);
  if (slow.size() + fast.size() <= kExactLimit) return exact_p(ranked, slow.size());
  return normal_p(ranked, slow.size(), fast.size());
}

}  // namespace hocket
