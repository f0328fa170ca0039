#include "tuner/surrogate/gaussian_surrogate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace hocket {
namespace {

TEST(HalfRankWarp, KeepsTheBetterHalfAndEveryRank) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<double> values;
    const auto count = 3 + random() % 30;
    for (std::uint64_t i = 0; i < count; ++i)
      values.push_back(std::exp(static_cast<double>(random() % 40)));
    const auto warped = half_rank_warped(values);
    ASSERT_EQ(warped.size(), values.size());
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    const double middle = sorted[(sorted.size() - 1) / 2];
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= middle) {
        ASSERT_EQ(warped[i], values[i]);
      }
      for (std::size_t j = 0; j < values.size(); ++j) {
        if (values[i] < values[j]) {
          ASSERT_LE(warped[i], warped[j]);
        }
      }
    }
  }
}

TEST(HalfRankWarp, BringsWildValuesNear) {
  const auto warped = half_rank_warped({1, 2, 3, 4, 1e9});
  EXPECT_LT(warped.back(), 10);
  EXPECT_GT(warped.back(), warped[3]);
  EXPECT_THAT(half_rank_warped({7, 7, 7}), testing::ElementsAre(7, 7, 7));
}

TEST(GaussianSurrogate, BelievesOnTheScaleOfTheValues) {
  const Space space = Space::make({{"x", RealRange{0, 1, false}, 0.5}}).value();
  GaussianSurrogate surrogate(space);
  std::vector<Observation> told;
  for (const double x : {0.0, 0.25, 0.5, 0.75, 1.0})
    told.push_back({{x}, 1000 + 100 * (x - 0.5) * (x - 0.5), 0});
  surrogate.fit(told, {});
  const UnitPoint middle{0.5};
  const Belief belief = surrogate.believe({&middle, 1});
  EXPECT_NEAR(belief.mean[0], 1000, 5);
  EXPECT_GT(belief.deviation[0], 0);
}

TEST(GaussianSurrogate, FollowsAValueLessTheNoisierItsTrialWas) {
  const Space space = Space::make({{"x", RealRange{0, 1, false}, 0.5}}).value();
  const UnitPoint odd{0.45};
  double last = 0;
  for (const double standard_error : {0.0, 0.2, 0.5, 2.0, 1e9}) {
    GaussianSurrogate surrogate(space, ValueWarp::none);
    std::vector<Observation> told;
    for (int i = 0; i <= 10; ++i) {
      const double x = 0.1 * i;
      told.push_back({{x}, 2 * x, 0});
    }
    told.push_back({odd, 0, standard_error});
    surrogate.fit(told, {});
    const double mean = surrogate.believe({&odd, 1}).mean[0];
    EXPECT_GE(mean, last - 1e-6) << standard_error;
    last = mean;
  }
  EXPECT_NEAR(last, 0.9, 0.05);
}

TEST(GaussianSurrogate, KeepsTheLowestOfVeryManyMeasurements) {
  const Space space = Space::make({{"x", RealRange{0, 1, false}, 0.5}}).value();
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> far(0.5, 1), value(2, 2.1);
    std::vector<Observation> told;
    for (int i = 0; i < 2000; ++i) told.push_back({{far(random)}, value(random), 0});
    // Few enough that thinning evenly by rank could drop all of them.
    const UnitPoint low{0.1};
    for (int i = 0; i < 5; ++i) told.push_back({low, 1, 0});
    GaussianSurrogate surrogate(space);
    surrogate.fit(told, {});
    EXPECT_LT(surrogate.believe({&low, 1}).mean[0], 1.2);
  }
}

}  // namespace
}  // namespace hocket
