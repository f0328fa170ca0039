#include "core/base/rank_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

namespace hocket {
namespace {

using Random = std::mt19937_64;
using Samples = std::vector<double>;

/// Draws realistic iteration times: skewed, with a few stragglers; rounded to `step` unless that is
/// 0.
Samples draw(Random& random, std::size_t count, double scale, double step = 0) {
  std::lognormal_distribution<double> time(0, 0.1);
  std::bernoulli_distribution is_straggler(0.05);
  Samples samples(count);
  for (double& sample : samples) {
    sample = scale * time(random) * (is_straggler(random) ? 2 : 1);
    if (step > 0) sample = step * std::round(sample / step);
  }
  return samples;
}

/// Returns the p-value by enumerating all choices of the slow values among the pooled ones.
double p_by_enumeration(const Samples& slow, const Samples& fast) {
  Samples pooled = slow;
  pooled.insert(pooled.end(), fast.begin(), fast.end());
  const auto statistic = [&](const std::vector<bool>& is_slow) {
    double above = 0;
    for (std::size_t i = 0; i < pooled.size(); ++i) {
      for (std::size_t j = 0; j < pooled.size(); ++j) {
        if (!is_slow[i] || is_slow[j]) continue;
        above += pooled[i] > pooled[j] ? 1 : pooled[i] == pooled[j] ? 0.5 : 0;
      }
    }
    return above;
  };
  std::vector<bool> is_slow(pooled.size(), false);
  std::fill_n(is_slow.begin(), slow.size(), true);
  const double observed = statistic(is_slow);
  std::sort(is_slow.begin(), is_slow.end());
  double all = 0, as_large = 0;
  do {
    ++all;
    if (statistic(is_slow) >= observed) ++as_large;
  } while (std::next_permutation(is_slow.begin(), is_slow.end()));
  return as_large / all;
}

TEST(RankSum, IsTheShareOfAllArrangements) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto count = [&] { return std::uniform_int_distribution<std::size_t>(1, 6)(random); };
    // Every second case has ties.
    const double step = seed % 2 == 0 ? 0 : 0.1;
    const Samples slow = draw(random, count(), 1.05, step), fast = draw(random, count(), 1, step);
    EXPECT_NEAR(rank_sum_p(slow, fast), p_by_enumeration(slow, fast), 1e-12);
  }
}

TEST(RankSum, KnownValues) {
  const Samples low = {1, 2, 3, 4, 5}, high = {6, 7, 8, 9, 10};
  EXPECT_DOUBLE_EQ(rank_sum_p(high, low), 1.0 / 252);
  EXPECT_DOUBLE_EQ(rank_sum_p(low, high), 1);
  EXPECT_DOUBLE_EQ(rank_sum_p(Samples(5, 1.0), Samples(5, 1.0)), 1);
  EXPECT_DOUBLE_EQ(rank_sum_p(Samples(50, 1.0), Samples(50, 1.0)), 1);
}

TEST(RankSum, OfManyIsTheShareOfRandomArrangements) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const double step = seed % 2 == 0 ? 0 : 0.05;
    Samples pooled = draw(random, 40, 1.03, step);
    std::ranges::copy(draw(random, 30, 1, step), std::back_inserter(pooled));
    const auto p_of = [&] {
      return rank_sum_p(std::span(pooled).first(40), std::span(pooled).subspan(40));
    };
    const double p = p_of();
    constexpr int kArrangements = 3000;
    int as_low = 0;
    for (int i = 0; i < kArrangements; ++i) {
      std::ranges::shuffle(pooled, random);
      as_low += p_of() <= p;
    }
    // The tolerance is at least three standard errors of the share.
    EXPECT_NEAR(p, as_low / double{kArrangements}, 0.028);
  }
}

TEST(RankSum, DependsOnRanksAlone) {
  Random random(7);
  Samples slow = draw(random, 8, 1.1), fast = draw(random, 9, 1);
  const double p = rank_sum_p(slow, fast);
  for (Samples* samples : {&slow, &fast}) {
    for (double& sample : *samples) sample = std::exp(3 * sample) - 100;
    std::ranges::shuffle(*samples, random);
  }
  EXPECT_EQ(rank_sum_p(slow, fast), p);
}

}  // namespace
}  // namespace hocket
