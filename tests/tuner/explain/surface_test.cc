#include "tuner/explain/surface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/explain/small_search.h"
#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_near(const std::optional<double>& a, const std::optional<double>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  // A model's means of the same point may differ in the last digits with its neighbours.
  if (!a) return;
  ASSERT_NEAR(*a, *b, 1e-9 * std::max(std::abs(*a), std::abs(*b)));
}

TEST(BeliefSurface, IsTransposedWithItsParametersExchanged) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) continue;
    const auto explanation = explanation_of(*space, random_trials(*space, false, random));
    const auto varying = varying_parameters(*space, explanation);
    for (const auto& x : varying) {
      for (const auto& y : varying) {
        if (x == y) continue;
        const auto surface = surface_over(*space, explanation, x, y).value();
        const auto other = surface_over(*space, explanation, y, x).value();
        ASSERT_EQ(surface.x, other.y);
        ASSERT_EQ(surface.y, other.x);
        ASSERT_EQ(surface.xs, other.ys);
        ASSERT_EQ(surface.ys, other.xs);
        ASSERT_EQ(surface.expected.size(), surface.ys.size());
        for (std::size_t j = 0; j < surface.ys.size(); ++j) {
          ASSERT_EQ(surface.expected[j].size(), surface.xs.size());
          for (std::size_t i = 0; i < surface.xs.size(); ++i)
            expect_near(surface.expected[j][i], other.expected[i][j]);
        }
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 50);
}

TEST_F(SmallPlot, TheSurfaceOfAnExplanationIsOverTheTwoMostImportant) {
  const auto explanation = explanation_of(space_, trials_);
  const auto varying = varying_parameters(space_, explanation);
  ASSERT_EQ(varying.size(), 2U);
  EXPECT_EQ(varying[0], explanation.importances[0].name);
  ASSERT_TRUE(explanation.surface);
  EXPECT_EQ(explanation.surface->x, varying[0]);
  EXPECT_EQ(explanation.surface->y, varying[1]);
  const auto again = surface_over(space_, explanation, varying[0], varying[1]).value();
  EXPECT_EQ(again.expected, explanation.surface->expected);
}

TEST(BeliefSurface, SaysWhichParametersThereAre) {
  const Space space = Space::make({{"chunk", IntegerRange{1, 9}, std::int64_t{5}},
                                   {"order", Choices{{"fifo", "static"}}, std::string("fifo")},
                                   {"fixed", IntegerRange{4, 4}, std::int64_t{4}}})
                          .value();
  Random random(1);
  const auto explanation = explanation_of(space, random_trials(space, false, random));
  const auto message = [&](const char* x, const char* y) {
    const auto surface = surface_over(space, explanation, x, y);
    EXPECT_FALSE(surface);
    EXPECT_EQ(surface.error().code, ErrorCode::invalid_argument);
    return surface.error().message;
  };
  EXPECT_THAT(message("chunks", "order"), AllOf(HasSubstr("\"chunks\""), HasSubstr("order"),
                                                HasSubstr("did you mean \"chunk\"")));
  EXPECT_THAT(message("chunk", "fixed"), HasSubstr("several values, found \"fixed\""));
  EXPECT_THAT(message("chunk", "a\nb"), HasSubstr("found \"a b\""));
  EXPECT_THAT(message("order", "order"), HasSubstr("found order twice"));
}

}  // namespace
}  // namespace hocket
