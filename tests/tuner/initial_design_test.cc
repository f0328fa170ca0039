#include "tuner/initial_design.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

TEST(InitialDesign, BeginsWithTheDefaultAndStaysWithinTheConstraints) {
  int constrained = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    testing::Random random(seed);
    const auto space = testing::random_constrained_space(random);
    if (!space) continue;
    constrained += space->constraints().empty() ? 0 : 1;
    const InitialDesign design(*space, seed);
    ASSERT_EQ(design.point(0), space->defaults());
    for (std::uint64_t i = 0; i < design.size() + 3; ++i) {
      ASSERT_TRUE(space->admit(design.point(i)));
    }
  }
  EXPECT_GT(constrained, 100);
}

TEST(InitialDesign, KeepsItsSizeWhereHalfOfTheSpaceIsExcluded) {
  const std::vector<Parameter> square{{"x", RealRange{0, 1}, 0.9}, {"y", RealRange{0, 1}, 0.1}};
  const auto space = Space::make(square, {"x>=y"}).value();
  const auto whole = Space::make(square).value();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    // As they are in the sequence, not moved: each is a point of the design without constraints.
    std::set<Params> sequence;
    for (std::uint64_t i = 0; i < 256; ++i) sequence.insert(InitialDesign(whole, seed).point(i));
    const InitialDesign design(space, seed);
    std::set<Params> points;
    for (std::uint64_t i = 0; i < design.size(); ++i) {
      points.insert(design.point(i));
      EXPECT_TRUE(sequence.contains(design.point(i)));
    }
    EXPECT_EQ(points.size(), design.size());
  }
}

TEST(InitialDesign, MovesPointsWhereLittleIsAllowed) {
  const auto space = Space::make({{"x", IntegerRange{1, 1'000'000'000}, std::int64_t{7}},
                                  {"y", IntegerRange{1, 1'000'000'000}, std::int64_t{7}}},
                                 {"x<=2000", "y<=2000"})
                         .value();
  const InitialDesign design(space, 1);
  std::set<Params> points;
  for (std::uint64_t i = 0; i < design.size(); ++i) {
    points.insert(design.point(i));
    ASSERT_TRUE(space.admit(design.point(i)));
  }
  EXPECT_EQ(points.size(), design.size());
}

}  // namespace
}  // namespace hocket
