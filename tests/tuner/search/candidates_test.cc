#include "tuner/search/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

/// Returns a score that is highest at `peak`.
PointScore towards(UnitPoint peak) {
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

TEST(CandidatePoints, RanksTheWholeOfASmallSpace) {
  const auto space = Space::make({{"a", IntegerRange{0, 9}, std::int64_t{0}},
                                  {"b", Choices{{"x", "y"}}, std::string("x")}})
                         .value();
  const auto ranked = CandidatePoints(space).ranked(towards({0.75, 0.75}), {}, 0);
  ASSERT_EQ(std::set<UnitPoint>(ranked.begin(), ranked.end()).size(), 20u);
  EXPECT_EQ(ranked.size(), 20u);
  EXPECT_EQ(space.decode(ranked.front()),
            (Params{{"a", std::int64_t{7}}, {"b", std::string("y")}}));
}

TEST(CandidatePoints, ClimbsToThePeakOfALargeSpace) {
  const auto space = Space::make({{"a", IntegerRange{1, 1 << 30, true}, std::int64_t{1}},
                                  {"b", RealRange{-1, 1}, 0.0},
                                  {"c", IntegerRange{1, 4}, std::int64_t{1}},
                                  {"d", Choices{{"x", "y", "z"}}, std::string("x")}})
                         .value();
  const CandidatePoints candidates(space);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const UnitPoint peak{0.3, 0.9, 0.375, 0.5};
    const auto best = candidates.ranked(towards(peak), {}, seed).front();
    for (std::size_t i = 0; i < peak.size(); ++i) EXPECT_NEAR(best[i], peak[i], 0.01);
  }
}

TEST(CandidatePoints, StartsFromKnownPointsToo) {
  // The peak is too narrow for the filling points to hit.
  const auto space =
      Space::make({{"a", RealRange{0, 1}, 0.0}, {"b", RealRange{0, 1}, 0.0}}).value();
  const UnitPoint peak{0.1234567, 0.7654321};
  const PointScore spike = [&](std::span<const UnitPoint> points) {
    auto scores = towards(peak)(points);
    for (double& score : scores) score = score > -1e-8 ? 1 + score : 0;
    return scores;
  };
  const std::vector<UnitPoint> known{{0.12341, 0.76543}};
  const auto best = CandidatePoints(space).ranked(spike, known, 1).front();
  EXPECT_NEAR(best[0], peak[0], 1e-3);
}

TEST(CandidatePoints, ScoresAHundredThousandPointsOneByOne) {
  const auto space = Space::make({{"a", IntegerRange{1, 1000}, std::int64_t{1}},
                                  {"b", IntegerRange{1, 100}, std::int64_t{1}}},
                                 {"a>=b"})
                         .value();
  const CandidatePoints candidates(space);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Params hidden = space.decode({0.5 + random_unit(random) / 2, 0.3});
    const UnitPoint peak = space.encode(hidden);
    std::size_t asked = 0;
    const PointScore spike = [&](std::span<const UnitPoint> points) {
      asked += points.size();
      std::vector<double> scores;
      for (const auto& point : points) scores.push_back(point == peak ? 1 : 0);
      return scores;
    };
    const auto ranked = candidates.ranked(spike, {}, seed, 3);
    ASSERT_EQ(ranked.size(), 3u);
    EXPECT_EQ(space.decode(ranked.front()), hidden);
    EXPECT_EQ(asked, space.allowed_size());
  }
}

TEST(CandidatePoints, TheFirstAreTheSameHoweverManyAreWanted) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = random_space(random);
    const UnitPoint peak(space.parameters().size(), random_unit(random));
    const CandidatePoints candidates(space);
    auto all = candidates.ranked(towards(peak), {}, seed);
    const auto few = candidates.ranked(towards(peak), {}, seed, 5);
    ASSERT_EQ(few.size(), std::min<std::size_t>(all.size(), 5));
    all.resize(few.size());
    ASSERT_EQ(few, all);
  }
}

TEST(CandidatePoints, ClimbsWithinTheConstraints) {
  const auto space =
      Space::make({{"a", RealRange{0, 1}, 0.1}, {"b", RealRange{0, 1}, 0.1}}, {"a+b<=1"}).value();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    // The peak is excluded; the nearest allowed point to it is the middle of the edge.
    const auto best = CandidatePoints(space).ranked(towards({1, 1}), {}, seed).front();
    EXPECT_GT(best[0] + best[1], 0.98);
    EXPECT_NEAR(best[0], 0.5, 0.1);
  }
}

TEST(CandidatePoints, AreAlwaysAllowedPointsOfTheSpace) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) continue;
    const UnitPoint peak(space->parameters().size(), random_unit(random));
    const bool has_scores = pick(random, 0, 3) > 0;
    const PointScore score = [&](std::span<const UnitPoint> points) {
      for (const auto& point : points) EXPECT_TRUE(space->allows(point));
      return has_scores ? towards(peak)(points) : std::vector<double>(points.size(), NAN);
    };
    const std::vector<UnitPoint> known{space->encode(space->defaults())};
    for (const auto& point : CandidatePoints(*space).ranked(score, known, seed)) {
      ASSERT_TRUE(space->admit(space->decode(point)));
    }
  }
}

}  // namespace
}  // namespace hocket
