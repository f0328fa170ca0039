#include "tuner/search/methods/pareto_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/tuner/random_space.h"
#include "tuner/search/pareto_front.h"

namespace hocket {
namespace {

Space line() {
  return Space::make({{"x", IntegerRange{0, 99, false}, std::int64_t{99}},
                      {"y", IntegerRange{0, 99, false}, std::int64_t{99}}})
      .value();
}

double coordinate(const Params& params, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(params.at(name))) / 99;
}

/// Two objectives that trade off along x at y = 0.5.
std::vector<double> trade_off(const Params& params) {
  const double x = coordinate(params, "x"), y = coordinate(params, "y") - 0.5;
  return {1 + x * x + y * y, 1e9 * (1 + (1 - x) * (1 - x) + y * y)};
}

Evaluation evaluation(const Params& params) {
  const auto values = trade_off(params);
  return {.params = params, .value = values[0], .others = {values[1]}};
}

/// Returns the area below `corner` that `values` of two objectives dominate.
double dominated_area(const std::vector<std::vector<double>>& values,
                      const std::vector<double>& corner) {
  std::vector<std::vector<double>> front;
  for (const std::size_t i : pareto_front(values)) front.push_back(values[i]);
  std::sort(front.begin(), front.end());
  double area = 0, ceiling = corner[1];
  for (const auto& value : front) {
    if (value[0] >= corner[0] || value[1] >= ceiling) continue;
    area += (corner[0] - value[0]) * (ceiling - value[1]);
    ceiling = value[1];
  }
  return area;
}

TEST(ParetoWeights, AreShares) {
  for (std::size_t objectives = 2; objectives < 5; ++objectives) {
    std::set<std::size_t> alone;
    for (std::uint64_t index = 0; index < 200; ++index) {
      const auto weights = pareto_weights(objectives, index, 3);
      ASSERT_EQ(weights.size(), objectives);
      ASSERT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-12);
      for (std::size_t k = 0; k < objectives; ++k) {
        ASSERT_GE(weights[k], 0);
        if (weights[k] == 1) alone.insert(k);
      }
    }
    EXPECT_EQ(alone.size(), objectives);
  }
}

TEST(Scalarized, PrefersWhatDominatesUnderAllWeights) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto objectives = static_cast<std::size_t>(pick(random, 2, 4));
    const double offset = pick(random, 0, 1) ? 0 : -50;
    std::vector<std::vector<double>> values(12);
    for (auto& value : values)
      for (std::size_t k = 0; k < objectives; ++k)
        value.push_back(offset + static_cast<double>(pick(random, 1, 100)));
    for (std::uint64_t index = 0; index < 6; ++index) {
      const auto scalars = scalarized(values, pareto_weights(objectives, index, seed));
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_GE(scalars[i], 1);
        for (std::size_t j = 0; j < values.size(); ++j) {
          bool at_most = true;
          for (std::size_t k = 0; k < objectives; ++k)
            at_most = at_most && values[i][k] <= values[j][k];
          if (!at_most) continue;
          ASSERT_LE(scalars[i], scalars[j] + 1e-12);
        }
      }
    }
  }
}

TEST(Scalarized, TakesTheLargestNumbers) {
  const double huge = std::numeric_limits<double>::max();
  for (const double value : scalarized(std::vector<std::vector<double>>{{-huge, 1}, {huge, 0}},
                                       std::vector<double>{0.5, 0.5}))
    EXPECT_TRUE(std::isfinite(value));
}

TEST(ParetoSearch, CoversMoreOfTheFrontThanRandomSearch) {
  double of_search = 0, of_random = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto pareto = make_pareto_search(line(), seed, 2);
    const auto random = make_search(line(), {.method = SearchMethod::random, .seed = seed});
    std::vector<std::vector<double>> found, drawn;
    for (int i = 0; i < 20; ++i) {
      const auto suggestion = pareto->ask();
      ASSERT_TRUE(suggestion);
      ASSERT_TRUE(pareto->tell(evaluation(suggestion->params)));
      found.push_back(trade_off(suggestion->params));
      const auto other = (*random)->ask();
      drawn.push_back(trade_off(other->params));
    }
    of_search += dominated_area(found, {2.5, 2.5e9});
    of_random += dominated_area(drawn, {2.5, 2.5e9});
  }
  EXPECT_GT(of_search, of_random);
}

TEST(ParetoSearch, AsksTheDefaultThenEveryPointOnceWhateverIsOutstanding) {
  const auto space = Space::make({{"a", IntegerRange{1, 4, false}, std::int64_t{3}},
                                  {"b", Choices{{"x", "y"}}, std::string("y")}})
                         .value();
  const auto search = make_pareto_search(space, 1, 3);
  std::set<Params> asked;
  while (const auto suggestion = search->ask()) {
    if (asked.empty()) {
      EXPECT_EQ(suggestion->params, space.defaults());
    }
    ASSERT_TRUE(asked.insert(suggestion->params).second);
    ASSERT_FALSE(suggestion->reason.empty());
    const auto a = static_cast<double>(std::get<std::int64_t>(suggestion->params.at("a")));
    if (asked.size() % 4 == 1) continue;
    if (asked.size() % 4 == 2) {
      ASSERT_TRUE(search->tell({.params = suggestion->params, .value = {}}));
    } else {
      ASSERT_TRUE(search->tell({.params = suggestion->params, .value = a, .others = {-a, 1}}));
    }
  }
  EXPECT_EQ(asked.size(), space.size());
}

TEST(ParetoSearch, GoesOnFromAToldHistory) {
  const auto whole = make_pareto_search(line(), 5, 2);
  std::vector<Evaluation> history;
  for (int i = 0; i < 10; ++i) {
    const auto resumed = make_pareto_search(line(), 5, 2);
    for (const auto& told : history) ASSERT_TRUE(resumed->tell(told));
    const auto suggestion = whole->ask();
    EXPECT_EQ(resumed->ask()->params, suggestion->params);
    history.push_back(evaluation(suggestion->params));
    ASSERT_TRUE(whole->tell(history.back()));
  }
}

TEST(ParetoSearch, RefusesValuesOfOtherObjectives) {
  const auto search = make_pareto_search(line(), 0, 2);
  const Params params = line().defaults();
  EXPECT_FALSE(search->tell({.params = params, .value = 1}));
  EXPECT_FALSE(search->tell({.params = params, .value = 1, .others = {1, 2}}));
  EXPECT_FALSE(search->tell({.params = params, .value = 1, .others = {NAN}}));
  EXPECT_FALSE(search->recommend());
  EXPECT_TRUE(search->tell({.params = params, .value = 1, .others = {2}}));
  EXPECT_EQ(search->recommend()->params, params);
}

}  // namespace
}  // namespace hocket
