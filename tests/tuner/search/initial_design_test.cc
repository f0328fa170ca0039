#include "tuner/search/initial_design.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

TEST(InitialDesign, BeginsWithTheDefaultAndStaysWithinTheConstraints) {
  int constrained = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) continue;
    constrained += space->constraints().empty() ? 0 : 1;
    const auto owner = sobol_design(*space, seed, fillers_without_model(*space));
    const InitialDesign& design = *owner;
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
    // The points are taken from the sequence, not moved: each is a point of the design without
    // constraints.
    const auto of_whole = sobol_design(whole, seed, 4);
    std::set<Params> sequence;
    for (std::uint64_t i = 0; i < 256; ++i) sequence.insert(of_whole->point(i));
    const auto owner = sobol_design(space, seed, fillers_without_model(space));
    const InitialDesign& design = *owner;
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
  const auto owner = sobol_design(space, 1, fillers_without_model(space));
  const InitialDesign& design = *owner;
  std::set<Params> points;
  for (std::uint64_t i = 0; i < design.size(); ++i) {
    points.insert(design.point(i));
    ASSERT_TRUE(space.admit(design.point(i)));
  }
  EXPECT_EQ(points.size(), design.size());
}

TEST(InitialDesign, StartsAtTheDefaultAndStaysInside) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = random_space(random);
    const auto owner = sobol_design(space, seed, fillers_without_model(space));
    const InitialDesign& design = *owner;
    ASSERT_EQ(design.point(0), space.defaults());
    for (std::uint64_t i = 0; i < design.size(); ++i) ASSERT_TRUE(space.admit(design.point(i)));
    ASSERT_GE(design.size(), 5u);
  }
}

TEST(InitialDesign, ReplaysBetweenTheDefaultAndTheOthers) {
  const auto space =
      Space::make({{"x", RealRange{0, 1}, 0.9}, {"y", RealRange{0, 1}, 0.1}}).value();
  const auto others = sobol_design(space, 5, 4);
  const std::vector<Params> replayed{{{"x", 0.25}, {"y", 0.5}}, {{"x", 0.75}, {"y", 0.5}}};
  const auto design = transferred_design(replayed, "as before", sobol_design(space, 5, 4));
  EXPECT_EQ(design->size(), others->size() + 2);
  EXPECT_EQ(design->point(0), space.defaults());
  EXPECT_EQ(design->reason(0), others->reason(0));
  for (std::uint64_t i = 1; i <= 2; ++i) {
    EXPECT_EQ(design->point(i), replayed[i - 1]);
    EXPECT_EQ(design->reason(i), "as before");
  }
  for (std::uint64_t i = 3; i < 20; ++i) {
    EXPECT_EQ(design->point(i), others->point(i - 2));
    EXPECT_EQ(design->reason(i), others->reason(i - 2));
  }
}

}  // namespace
}  // namespace hocket
