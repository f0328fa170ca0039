#include "tuner/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

/// Highest at `peak`.
Score towards(UnitPoint peak) {
  return [peak](std::span<const UnitPoint> points) {
    std::vector<double> scores;
    for (const auto& point : points) {
      double distance = 0;
      for (std::size_t i = 0; i < point.size(); ++i) distance += std::pow(point[i] - peak[i], 2);
      scores.push_back(-distance);
    }
    return scores;
  };
}

TEST(Candidates, RanksTheWholeOfASmallSpace) {
  const auto space = Space::make({{"a", IntegerRange{0, 9}, std::int64_t{0}},
                                  {"b", Choices{{"x", "y"}}, std::string("x")}})
                         .value();
  const auto ranked = Candidates(space).ranked(towards({0.75, 0.75}), {}, 0);
  ASSERT_EQ(std::set<UnitPoint>(ranked.begin(), ranked.end()).size(), 20u);
  EXPECT_EQ(ranked.size(), 20u);
  EXPECT_EQ(space.decode(ranked.front()),
            (Params{{"a", std::int64_t{7}}, {"b", std::string("y")}}));
}

TEST(Candidates, ClimbsToThePeakOfALargeSpace) {
  const auto space = Space::make({{"a", IntegerRange{1, 1 << 30, true}, std::int64_t{1}},
                                  {"b", RealRange{-1, 1}, 0.0},
                                  {"c", IntegerRange{1, 4}, std::int64_t{1}},
                                  {"d", Choices{{"x", "y", "z"}}, std::string("x")}})
                         .value();
  const Candidates candidates(space);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const UnitPoint peak{0.3, 0.9, 0.375, 0.5};
    const auto best = candidates.ranked(towards(peak), {}, seed).front();
    for (std::size_t i = 0; i < peak.size(); ++i) EXPECT_NEAR(best[i], peak[i], 0.01);
  }
}

TEST(Candidates, StartsFromKnownPointsToo) {
  // A peak too narrow for the filling points to see.
  const auto space =
      Space::make({{"a", RealRange{0, 1}, 0.0}, {"b", RealRange{0, 1}, 0.0}}).value();
  const UnitPoint peak{0.1234567, 0.7654321};
  const Score spike = [&](std::span<const UnitPoint> points) {
    auto scores = towards(peak)(points);
    for (double& score : scores) score = score > -1e-8 ? 1 + score : 0;
    return scores;
  };
  const std::vector<UnitPoint> known{{0.12341, 0.76543}};
  const auto best = Candidates(space).ranked(spike, known, 1).front();
  EXPECT_NEAR(best[0], peak[0], 1e-3);
}

TEST(Candidates, AreAlwaysPointsOfTheSpace) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    testing::Random random(seed);
    const Space space = testing::random_space(random);
    const UnitPoint peak(space.parameters().size(), testing::random_unit(random));
    for (const auto& point : Candidates(space).ranked(towards(peak), {}, seed)) {
      ASSERT_TRUE(space.admit(space.decode(point)));
    }
  }
}

}  // namespace
}  // namespace hocket
