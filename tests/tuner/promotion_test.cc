#include "tuner/promotion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hocket {
namespace {

std::vector<ConfirmationRun> runs(std::vector<double> values, double spread = 0,
                                  std::size_t samples = 1) {
  std::vector<ConfirmationRun> result;
  for (const double value : values) result.push_back({value, spread, samples});
  return result;
}

TEST(Promotion, FollowsTheRuleByHand) {
  // Gains log 1.2, log 1.25, log 1.3: mean 0.22261, standard error 0.023111, t(0.95, 2) = 2.91999.
  const auto verdict = compare(runs({120, 125, 130}), runs({100, 100, 100}));
  EXPECT_TRUE(verdict.better);
  EXPECT_NEAR(verdict.gain, 1 - std::exp(-0.222614), 1e-5);
  EXPECT_NEAR(verdict.noise, 1 - std::exp(-2.91999 * 0.0231113), 1e-4);
}

TEST(Promotion, NoiseWithinTheRunsIsAFloor) {
  // The pairs agree exactly, but ten samples with a spread of 20 % cannot know a gain of 5 %.
  EXPECT_TRUE(compare(runs({105, 105, 105}), runs({100, 100, 100})).better);
  EXPECT_FALSE(compare(runs({105, 105, 105}, 20, 10), runs({100, 100, 100}, 20, 10)).better);
  EXPECT_TRUE(compare(runs({105, 105, 105}, 0.5, 10), runs({100, 100, 100}, 0.5, 10)).better);
}

TEST(Promotion, NeedsTwoPairsAndARealGain) {
  EXPECT_FALSE(compare({}, {}).better);
  EXPECT_FALSE(compare(runs({200}), runs({100})).better);
  EXPECT_NEAR(compare(runs({200}), runs({100})).gain, 0.5, 1e-12);
  EXPECT_FALSE(compare(runs({100, 100}), runs({100, 100})).better);
  EXPECT_FALSE(compare(runs({90, 90}), runs({100, 100})).better);
  EXPECT_LT(compare(runs({90, 90}), runs({100, 100})).gain, 0);
}

TEST(Promotion, TakesZeroAndNegativeValues) {
  EXPECT_TRUE(compare(runs({2, 2, 2}), runs({0, 0, 0})).better);
  EXPECT_FALSE(compare(runs({0, 0, 0}), runs({0, 0, 0})).better);
  EXPECT_FALSE(compare(runs({0, 0, 0}), runs({1, 1, 1})).better);
  EXPECT_TRUE(compare(runs({-1, -1, -1}), runs({-2, -2, -2})).better);
  EXPECT_NEAR(compare(runs({2, 2}), runs({0, 1})).gain, 0.75, 1e-12);
}

TEST(Promotion, ScaleDoesNotMatter) {
  const auto small = compare(runs({1.2e-9, 1.3e-9}, 1e-11, 5), runs({1e-9, 1.1e-9}, 1e-11, 5));
  const auto large = compare(runs({1.2e9, 1.3e9}, 1e7, 5), runs({1e9, 1.1e9}, 1e7, 5));
  EXPECT_NEAR(small.gain, large.gain, 1e-12);
  EXPECT_NEAR(small.noise, large.noise, 1e-12);
}

double share_promoted(double true_gain, double noise, int pairs, int studies) {
  std::mt19937_64 random(static_cast<std::uint64_t>(pairs));
  std::normal_distribution<double> normal(0, noise);
  int promoted = 0;
  for (int study = 0; study < studies; ++study) {
    std::vector<ConfirmationRun> default_runs, winner_runs;
    for (int pair = 0; pair < pairs; ++pair) {
      default_runs.push_back({std::exp(normal(random)), 0.02, 20});
      winner_runs.push_back({(1 - true_gain) * std::exp(normal(random)), 0.02, 20});
    }
    promoted += compare(default_runs, winner_runs).better ? 1 : 0;
  }
  return static_cast<double>(promoted) / studies;
}

TEST(Promotion, EqualsArePromotedNoMoreOftenThanTheBoundAllows) {
  for (const int pairs : {2, 3, 5, 10}) {
    SCOPED_TRACE(pairs);
    EXPECT_LE(share_promoted(0, 0.04, pairs, 20'000), 0.056);
    EXPECT_GE(share_promoted(0, 0.04, pairs, 20'000), 0.02);
  }
}

TEST(Promotion, AClearGainIsPromotedNearlyAlways) {
  EXPECT_GE(share_promoted(0.3, 0.04, 3, 5000), 0.97);
  EXPECT_GE(share_promoted(0.1, 0.04, 10, 5000), 0.97);
}

}  // namespace
}  // namespace hocket
