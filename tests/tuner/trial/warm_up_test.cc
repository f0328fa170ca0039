#include "tuner/trial/warm_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket {
namespace {

using ::testing::ElementsAre;

std::size_t warm_up(const std::vector<double>& costs) {
  return warm_up_of(costs);
}

TEST(WarmUp, IsTheBeginningThatIsClearlySlowerThanTheRest) {
  EXPECT_EQ(warm_up({200, 185, 170, 9, 10, 11, 10, 9}), 3U);
  EXPECT_EQ(warm_up({30, 10, 10, 10, 10, 10}), 1U) << "one compilation";
  EXPECT_EQ(warm_up({200, 185, 30, 15, 10, 11, 10, 9}), 4U) << "it fades";
  EXPECT_EQ(warm_up({10, 200, 10, 10, 10, 10}), 0U) << "it is no beginning";
}

TEST(WarmUp, MayBeLongAndMayHaveAStragglerBehindIt) {
  std::vector<double> costs(60, 20.0);
  for (std::size_t i = 0; i < 10; ++i) costs[i] = 300;
  costs[50] = 4000;  // a checkpoint
  EXPECT_EQ(warm_up(costs), 10U);
}

TEST(WarmUp, OfWhatIsMaximisedIsTheBeginningThatIsClearlyLower) {
  EXPECT_EQ(warm_up({-1, -40, -100, -101, -99, -100}), 2U);
}

TEST(WarmUp, IsNotSeenInAShortRunNorBeyondItsHalf) {
  EXPECT_EQ(warm_up({200, 10, 10, 10, 10}), 0U);
  EXPECT_EQ(warm_up({}), 0U);
  EXPECT_EQ(warm_up({200, 190, 180, 170, 10, 10}), 0U) << "the second half is a warm-up, too";
}

TEST(WarmUp, EqualIterationsHaveHardlyAny) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> time(100, 3);
    std::vector<double> costs(40);
    for (double& cost : costs) cost = time(random);
    found += warm_up(costs) > 0 ? 1 : 0;
  }
  EXPECT_LE(found, 5);
}

TEST(WarmUp, IsLeftOutOfAMeasurement) {
  const ObjectiveMeasurement measured = without_first({5, 1, {90, 70, 5, 3, 4}}, 2);
  EXPECT_THAT(measured.samples, ElementsAre(5, 3, 4));
  EXPECT_EQ(measured.value, 4);
  EXPECT_EQ(measured.spread, 0.5);
  EXPECT_EQ(without_first({5, 1, {5}}, 0).value, 5);
}

}  // namespace
}  // namespace hocket
