#include "tuner/trial/early_end.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  // A straggler in front looks like a warm-up, and five samples that fall by chance like the end of
  // one: these wait for the next look.
  EXPECT_GE(share_ended(1.5, 20, 5, 0), 0.85);
  EXPECT_GE(share_ended(1.5, 20, 12, 0), 0.98);
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

/// A run as the training scripts print it: `warm_up` iterations that fall from 200 to about twice
/// `usual`, then the usual ones, with noise of 5 %.
Samples run_with_warm_up(std::uint64_t seed, std::size_t warm_up, double usual, double cold = 200) {
  Random random(seed);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  Samples samples;
  for (std::size_t i = 0; i < 46; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(std::max(warm_up, i + 1));
    samples.push_back((i < warm_up ? cold - (cold - 2 * usual) * share : usual) * noise(random));
  }
  return samples;
}

TEST(EarlyEnd, IterationsThatTheBestRunHadAsSlowAtTheSamePlaceEndNoTrial) {
  const Samples best = run_with_warm_up(1, 6, 20);
  for (const double usual : {10.0, 12.0, 17.0}) {
    const Samples faster = run_with_warm_up(2, 6, usual);
    for (std::size_t seen = 0; seen <= faster.size(); ++seen)
      ASSERT_FALSE(early_end(std::span(faster).first(seen), best)) << usual << ", " << seen;
  }
}

TEST(EarlyEnd, ASlowTrialWithAWarmUpIsEndedByWhatFollowsTheWarmUp) {
  const Samples best = run_with_warm_up(1, 6, 20), slower = run_with_warm_up(2, 6, 40);
  EXPECT_FALSE(early_end(std::span(slower).first(10), best));
  const auto end = early_end(std::span(slower).first(11), best);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->warm_up, 6U);
}

TEST(EarlyEnd, AWarmUpThatIsLongerThanThatOfTheBestRunEndsNoTrial) {
  for (const std::size_t of_best : {0, 2, 6}) {
    for (const std::size_t own : {7, 9, 12}) {
      SCOPED_TRACE(std::to_string(of_best) + " and " + std::to_string(own));
      const Samples best = run_with_warm_up(1, of_best, 20), faster = run_with_warm_up(2, own, 10);
      for (std::size_t seen = 0; seen <= faster.size(); ++seen)
        ASSERT_FALSE(early_end(std::span(faster).first(seen), best)) << seen;
    }
  }
}

TEST(EarlyEnd, WhatRisesInAWarmUpIsComparedAsWell) {
  // Throughput, whose costs are below 0.
  const auto rates = [](Samples times) {
    for (double& time : times) time = -1000 / time;
    return times;
  };
  const Samples best = rates(run_with_warm_up(1, 6, 20)),
                faster = rates(run_with_warm_up(2, 6, 10)),
                slower = rates(run_with_warm_up(3, 6, 40));
  EXPECT_FALSE(early_end(faster, best));
  EXPECT_TRUE(early_end(slower, best));
}

/// The decision does not depend on how often the test is evaluated.
TEST(EarlyEnd, WhatWasDecidedStaysDecided) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Samples incumbent = draw(random, 20, 1), samples = draw(random, 80, 1.05);
    std::optional<EarlyEnd> decided;
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
