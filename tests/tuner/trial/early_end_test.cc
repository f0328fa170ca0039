#include "tuner/trial/early_end.h"

#include <gtest/gtest.h>

#include <cmath>
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

#ifdef HOCKET_SANITIZED  // ranks are counted twenty times as slowly
constexpr int kTrials = 100;
#else
constexpr int kTrials = 1000;
#endif

/// Returns the share of trials `slower` times as slow as the incumbent that end within `count`
/// samples.
double share_ended(double slower, std::size_t incumbent_count, std::size_t count, double step) {
  int ended = 0;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    Random random(seed);
    const Samples incumbent = draw(random, incumbent_count, 1, step);
    const Samples samples = draw(random, count, slower, step);
    if (early_end(samples, incumbent)) ++ended;
  }
  return ended / double{kTrials};
}

TEST(EarlyEnd, EqualTrialsAreHardlyEverEnded) {
  for (const std::size_t incumbent_count : {5, 20, 100}) {
    for (const double step : {0.0, 0.05}) {
      SCOPED_TRACE(incumbent_count);
      SCOPED_TRACE(step);
      const double error = std::sqrt(kEarlyEndLevel * (1 - kEarlyEndLevel) / kTrials);
      EXPECT_LE(share_ended(1, incumbent_count, 80, step), kEarlyEndLevel + 3 * error);
    }
  }
}

TEST(EarlyEnd, FasterTrialsGoOn) {
  EXPECT_LE(share_ended(0.9, 20, 40, 0), 0.001);
}

TEST(EarlyEnd, SlowerTrialsAreEnded) {
  EXPECT_GE(share_ended(1.5, 20, 5, 0), 0.95);
  EXPECT_GE(share_ended(1.1, 40, 40, 0), 0.8);
}

TEST(EarlyEnd, TakesFiveOfEach) {
  const Samples fast(20, 1.0), slow(20, 2.0);
  EXPECT_FALSE(early_end(std::span(slow).first(4), fast));
  EXPECT_TRUE(early_end(std::span(slow).first(5), fast));
  EXPECT_FALSE(early_end(slow, std::span(fast).first(4)));
  EXPECT_FALSE(early_end({}, fast));
  EXPECT_FALSE(early_end(slow, {}));
}

/// The decision does not depend on how often the test is evaluated.
TEST(EarlyEnd, WhatWasDecidedStaysDecided) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Samples incumbent = draw(random, 20, 1), samples = draw(random, 80, 1.05);
    std::optional<double> decided;
    for (std::size_t seen = 1; seen <= samples.size(); seen += 3) {
      const auto p = early_end(std::span(samples).first(seen), incumbent);
      if (decided) {
        EXPECT_EQ(p, decided) << seen;
      }
      decided = p;
    }
  }
}

}  // namespace
}  // namespace hocket
