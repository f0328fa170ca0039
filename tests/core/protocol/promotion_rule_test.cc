#include "core/protocol/promotion_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

namespace hocket {
namespace {

Verdict at_once(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs) {
  return compare(default_runs, winner_runs, kFewestPairs);
}

std::vector<ConfirmationRun> runs(std::vector<double> values, double spread = 0,
                                  std::size_t samples = 1) {
  std::vector<ConfirmationRun> result;
  for (const double value : values) result.push_back({value, spread, samples});
  return result;
}

TEST(Promotion, FollowsTheRuleByHand) {
  // Gains log 1.2, log 1.25, log 1.3: mean 0.22261, standard error 0.023111, t(0.95, 2) = 2.91999.
  const auto verdict = at_once(runs({120, 125, 130}), runs({100, 100, 100}));
  EXPECT_TRUE(verdict.better);
  EXPECT_NEAR(verdict.gain, 1 - std::exp(-0.222614), 1e-5);
  EXPECT_NEAR(verdict.noise, 1 - std::exp(-2.91999 * 0.0231113), 1e-4);
}

TEST(Promotion, LooksShareTheError) {
  // Four looks: α = 0.05 / 4^0.8, and for two degrees of freedom t(p) = (2p − 1) √(1 / (2p(1 −
  // p))).
  const double p = 1 - 0.05 / std::pow(4, 0.8);
  const double t = (2 * p - 1) * std::sqrt(1 / (2 * p * (1 - p)));
  const auto verdict = compare(runs({120, 125, 130}), runs({100, 100, 100}), 5);
  EXPECT_NEAR(verdict.noise, 1 - std::exp(-t * 0.0231113), 1e-4);
  EXPECT_EQ(verdict.better, 0.222614 > t * 0.0231113);
}

TEST(Promotion, IsDecidedWhenTheWinnerIsClearlyWorse) {
  const auto worse = at_once(runs({100, 100, 100}), runs({110, 112, 111}));
  EXPECT_TRUE(worse.worse && worse.is_decided());
  EXPECT_FALSE(worse.better);
  EXPECT_FALSE(at_once(runs({100, 100, 100}), runs({110, 95, 111})).is_decided());
  EXPECT_FALSE(at_once(runs({100}), runs({200})).is_decided()) << "one pair says nothing";
  EXPECT_TRUE(at_once(runs({100, 100}), runs({100, 100})).worse) << "equal to the last digit";
}

TEST(Promotion, NoiseWithinTheRunsIsAFloor) {
  // The pairs agree exactly, but ten samples with a spread of 20 % cannot establish a gain of 5 %.
  EXPECT_TRUE(at_once(runs({105, 105, 105}), runs({100, 100, 100})).better);
  EXPECT_FALSE(at_once(runs({105, 105, 105}, 20, 10), runs({100, 100, 100}, 20, 10)).better);
  EXPECT_TRUE(at_once(runs({105, 105, 105}, 0.5, 10), runs({100, 100, 100}, 0.5, 10)).better);
}

TEST(Promotion, NeedsTwoPairsAndARealGain) {
  EXPECT_FALSE(at_once({}, {}).better);
  EXPECT_FALSE(at_once(runs({200}), runs({100})).better);
  EXPECT_NEAR(at_once(runs({200}), runs({100})).gain, 0.5, 1e-12);
  EXPECT_FALSE(at_once(runs({100, 100}), runs({100, 100})).better);
  EXPECT_FALSE(at_once(runs({90, 90}), runs({100, 100})).better);
  EXPECT_LT(at_once(runs({90, 90}), runs({100, 100})).gain, 0);
}

TEST(Promotion, TakesZeroAndNegativeValues) {
  EXPECT_TRUE(at_once(runs({2, 2, 2}), runs({0, 0, 0})).better);
  EXPECT_FALSE(at_once(runs({0, 0, 0}), runs({0, 0, 0})).better);
  EXPECT_FALSE(at_once(runs({0, 0, 0}), runs({1, 1, 1})).better);
  EXPECT_TRUE(at_once(runs({-1, -1, -1}), runs({-2, -2, -2})).better);
  EXPECT_NEAR(at_once(runs({2, 2}), runs({0, 1})).gain, 0.75, 1e-12);
}

TEST(Promotion, ScaleDoesNotMatter) {
  const auto small = at_once(runs({1.2e-9, 1.3e-9}, 1e-11, 5), runs({1e-9, 1.1e-9}, 1e-11, 5));
  const auto large = at_once(runs({1.2e9, 1.3e9}, 1e7, 5), runs({1e9, 1.1e9}, 1e7, 5));
  EXPECT_NEAR(small.gain, large.gain, 1e-12);
  EXPECT_NEAR(small.noise, large.noise, 1e-12);
}

struct Confirmed {
  bool promoted = false;
  int pairs = 0;
};

/// Confirms a winner as a study does: runs pairs until a decision. Half of the noise is within the
/// runs, which one sample per run does not show.
Confirmed confirm(double true_gain, double noise, int most_pairs, std::size_t samples,
                  std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, noise);
  const double spread = 0.5 * noise * std::sqrt(samples) * 0.6745 / 1.2533;
  std::vector<ConfirmationRun> default_runs, winner_runs;
  Confirmed confirmed;
  while (confirmed.pairs < most_pairs) {
    const double by_default = std::exp(normal(random));
    const double by_winner = (1 - true_gain) * std::exp(normal(random));
    default_runs.push_back({by_default, spread * by_default, samples});
    winner_runs.push_back({by_winner, spread * by_winner, samples});
    ++confirmed.pairs;
    const Verdict verdict = compare(default_runs, winner_runs, most_pairs);
    confirmed.promoted = verdict.better;
    if (verdict.is_decided()) break;
  }
  return confirmed;
}

/// Averages over studies on different machines, with 0.3 % to 5 % noise between runs of one
/// setting.
struct Studies {
  double promoted = 0, pairs = 0;
};

Studies studies(double true_gain, int most_pairs, int count, std::size_t samples = 20) {
  std::mt19937_64 random(static_cast<std::uint64_t>(most_pairs));
  std::uniform_real_distribution<double> log_noise(std::log(0.003), std::log(0.05));
  Studies result;
  for (int i = 0; i < count; ++i) {
    const auto confirmed =
        confirm(true_gain, std::exp(log_noise(random)), most_pairs, samples, random);
    EXPECT_LE(confirmed.pairs, most_pairs);
    EXPECT_TRUE(!confirmed.promoted || confirmed.pairs >= kFewestPairs);
    result.promoted += confirmed.promoted ? 1.0 / count : 0;
    result.pairs += static_cast<double>(confirmed.pairs) / count;
  }
  return result;
}

TEST(Promotion, OfTwoEqualSettingsOneIsPromotedInAtMostFivePercentOfStudies) {
  constexpr double kThreeErrors = 0.0046;
  for (const int most_pairs : {2, 3, 5, 8, 20}) {
    SCOPED_TRACE(most_pairs);
    const double promoted = studies(0, most_pairs, 20'000, 1).promoted;
    EXPECT_LE(promoted, 0.05 + kThreeErrors);
    EXPECT_GE(promoted, 0.03) << "it need not be that cautious";
    EXPECT_LE(studies(0, most_pairs, 5000, 20).promoted, promoted);
  }
}

TEST(Promotion, LargeGainsTakeFewerPairsAndArePromotedMoreOften) {
  for (const int most_pairs : {3, 5, 8}) {
    Studies before = studies(0.01, most_pairs, 4000);
    for (const double gain : {0.02, 0.05, 0.1, 0.2, 0.4}) {
      SCOPED_TRACE(testing::Message() << gain << " in at most " << most_pairs);
      const Studies now = studies(gain, most_pairs, 4000);
      std::printf("at most %d pairs, gain %2.0f %%: promoted %5.1f %%, %.2f pairs\n", most_pairs,
                  100 * gain, 100 * now.promoted, now.pairs);
      EXPECT_LT(now.pairs, before.pairs);
      EXPECT_GE(now.promoted, before.promoted);
      before = now;
    }
  }
}

TEST(Promotion, MorePairsFindMore) {
  for (const double gain : {0.01, 0.02, 0.05}) {
    SCOPED_TRACE(gain);
    EXPECT_GT(studies(gain, 5, 8000).promoted, studies(gain, 3, 8000).promoted + 0.03);
    EXPECT_GT(studies(gain, 8, 8000).promoted, studies(gain, 5, 8000).promoted);
  }
}

TEST(Promotion, AClearGainIsPromotedNearlyAlways) {
  EXPECT_GE(studies(0.3, 5, 4000).promoted, 0.98);
}

}  // namespace
}  // namespace hocket
