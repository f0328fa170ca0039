#include "tuner/search/search.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

constexpr SearchMethod kModelFree[] = {SearchMethod::random, SearchMethod::sobol, SearchMethod::tpe,
                                       SearchMethod::grid};

class SearchOf : public ::testing::TestWithParam<SearchMethod> {
 protected:
  static std::unique_ptr<Search> make(const Space& space, std::uint64_t seed) {
    return make_search(space, {.method = GetParam(), .seed = seed, .step = {}}).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Methods, SearchOf, ::testing::ValuesIn(kModelFree),
                         [](const auto& info) { return std::string(to_string(info.param)); });

/// Returns a value derived from the setting; nothing (a failure) for some settings.
std::optional<double> value_or_failure(const Params& params, std::uint64_t seed) {
  const auto mixed = std::hash<std::string>{}(to_json(params).dump()) ^ seed;
  if (mixed % 5 == 0) return std::nullopt;
  return static_cast<double>(mixed % 1000) - 500;
}

/// Returns a random space with more than one point; some have a constraint.
Space some_space(Random& random) {
  for (;;) {
    Space space = random_space(random);
    const auto& parameters = space.parameters();
    const bool numbers = std::none_of(parameters.begin(), parameters.end(), [](const auto& p) {
      return std::holds_alternative<Choices>(p.domain);
    });
    if (numbers && parameters.size() > 1) {
      const auto default_text = [&](std::size_t i) { return to_text(parameters[i].default_value); };
      auto masked = Space::make(parameters, {parameters[0].name + "<=" + parameters[1].name + "+" +
                                             default_text(0) + "-" + default_text(1)});
      if (masked) space = std::move(*masked);
    }
    if (check_searchable(space)) return space;
  }
}

TEST_P(SearchOf, AsksTheDefaultThenOnlyAllowedPointsAndNeverTwice) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = some_space(random);
    const auto search = make(space, seed);
    std::set<Params> asked;
    for (int i = 0; i < 30; ++i) {
      const auto suggestion = search->ask();
      if (!suggestion) break;
      if (i == 0) {
        ASSERT_EQ(suggestion->params, space.defaults());
      }
      ASSERT_FALSE(suggestion->reason.empty());
      ASSERT_TRUE(space.admit(suggestion->params));
      ASSERT_TRUE(asked.insert(suggestion->params).second);
      // Some suggestions stay outstanding.
      if (i % 3 == 2) continue;
      ASSERT_TRUE(search->tell(
          {.params = suggestion->params, .value = value_or_failure(suggestion->params, seed)}));
    }
    if (asked.size() < 30 && space.size() <= Space::kLatticeLimit) {
      ASSERT_EQ(asked.size(), space.allowed_size());
    }
  }
}

TEST_P(SearchOf, GoesThroughTheWholeSpaceAndEnds) {
  const auto space = Space::make({{"a", IntegerRange{1, 9, false}, std::int64_t{3}},
                                  {"b", Choices{{"x", "y", "z"}}, std::string("y")},
                                  {"c", Levels{{1.0, 2.0, 8.0, 100.0}}, 2.0}},
                                 {"a*c<=200"})
                         .value();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto search = make(space, seed);
    std::set<Params> asked;
    while (const auto suggestion = search->ask()) {
      ASSERT_TRUE(space.admit(suggestion->params));
      ASSERT_TRUE(asked.insert(suggestion->params).second);
      ASSERT_TRUE(search->tell(
          {.params = suggestion->params, .value = value_or_failure(suggestion->params, seed)}));
    }
    EXPECT_EQ(asked.size(), space.allowed_size());
    EXPECT_FALSE(search->ask());
  }
}

TEST_P(SearchOf, GoesOnFromAToldHistory) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = some_space(random);
    const auto whole = make(space, seed);
    std::vector<Evaluation> history;
    for (int i = 0; i < 18; ++i) {
      const auto resumed = make(space, seed);
      for (const auto& evaluation : history) ASSERT_TRUE(resumed->tell(evaluation));
      const auto suggestion = whole->ask();
      const auto again = resumed->ask();
      ASSERT_EQ(again.has_value(), suggestion.has_value());
      if (!suggestion) break;
      ASSERT_EQ(again->params, suggestion->params) << "after " << i;
      history.push_back(
          {.params = suggestion->params, .value = value_or_failure(suggestion->params, seed)});
      ASSERT_TRUE(whole->tell(history.back()));
    }
  }
}

TEST_P(SearchOf, SeedsDiffer) {
  const auto space = Space::make({{"a", IntegerRange{0, 99, false}, std::int64_t{50}},
                                  {"b", RealRange{0, 1, false}, 0.5}})
                         .value();
  std::set<std::vector<Params>> asked;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto search = make(space, seed);
    std::vector<Params> history;
    for (int i = 0; i < 6; ++i) history.push_back(search->ask().value().params);
    asked.insert(std::move(history));
  }
  EXPECT_GT(asked.size(), 4U);
}

TEST_P(SearchOf, RecommendsTheLowestMean) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = some_space(random);
    const auto search = make(space, seed);
    EXPECT_FALSE(search->recommend());
    std::map<Params, std::pair<double, int>> sums;
    for (int i = 0; i < 12; ++i) {
      const auto suggestion = search->ask();
      if (!suggestion) break;
      for (auto times = pick(random, 1, 3); times > 0; --times) {
        const double value = static_cast<double>(pick(random, -1000, 1000));
        ASSERT_TRUE(search->tell({.params = suggestion->params, .value = value}));
        sums[suggestion->params].first += value;
        ++sums[suggestion->params].second;
      }
    }
    double least = INFINITY;
    for (const auto& [params, sum] : sums) least = std::min(least, sum.first / sum.second);
    const auto recommendation = search->recommend();
    ASSERT_TRUE(recommendation);
    EXPECT_NEAR(recommendation->expected, least, 1e-9);
    const auto& [sum, count] = sums.at(recommendation->params);
    EXPECT_NEAR(sum / count, least, 1e-9);
  }
}

TEST_P(SearchOf, RecommendsNothingWhenAllFailed) {
  Random random(1);
  const Space space = some_space(random);
  const auto search = make(space, 0);
  for (int i = 0; i < 15; ++i) {
    const auto suggestion = search->ask();
    if (!suggestion) break;
    ASSERT_TRUE(search->tell({.params = suggestion->params, .value = std::nullopt}));
    EXPECT_FALSE(search->recommend());
  }
}

TEST_P(SearchOf, RefusesWhatWasNotMeasured) {
  const auto space = Space::make({{"x", RealRange{-1, 1, false}, 0.0}}).value();
  const auto search = make(space, 0);
  EXPECT_FALSE(search->tell({.params = space.defaults(), .value = NAN}));
  EXPECT_FALSE(search->tell({.params = space.defaults(), .value = INFINITY}));
  EXPECT_FALSE(search->tell({.params = space.defaults(), .value = 1, .standard_error = -1}));
  EXPECT_FALSE(search->tell({.params = {{"x", 2.0}}, .value = 1}));
  EXPECT_FALSE(search->tell({.params = {}, .value = 1}));
  EXPECT_FALSE(search->recommend());
  EXPECT_EQ(search->ask().value().params, space.defaults());
}

TEST_P(SearchOf, TakesTheLargestValues) {
  const auto space = Space::make({{"x", IntegerRange{0, 99, false}, std::int64_t{0}}}).value();
  const auto search = make(space, 0);
  for (int i = 0; i < 20; ++i) {
    const Params params = search->ask().value().params;
    for (const double value : {1.7e308, -1.7e308}) {
      ASSERT_TRUE(search->tell({.params = params, .value = value}));
    }
  }
  EXPECT_TRUE(std::isfinite(search->recommend().value().expected));
}

TEST_P(SearchOf, EndsInARealRangeThatHoldsFewNumbers) {
  const auto space = Space::make({{"x", RealRange{1, std::nextafter(1.0, 2.0)}, 1.0}}).value();
  const auto search = make(space, 0);
  std::set<Params> asked;
  while (const auto suggestion = search->ask()) {
    ASSERT_TRUE(asked.insert(suggestion->params).second);
  }
  EXPECT_EQ(asked.size(), 2U);
}

TEST(TpeSearch, BeatsRandomSearchOnASmoothFunction) {
  const auto space = Space::make({{"x", IntegerRange{0, 99, false}, std::int64_t{0}},
                                  {"y", IntegerRange{0, 99, false}, std::int64_t{0}},
                                  {"z", Choices{{"a", "b", "c", "d"}}, std::string("a")}})
                         .value();
  const auto bowl = [](const Params& params) {
    const double x = static_cast<double>(std::get<std::int64_t>(params.at("x"))) / 99 - 0.7;
    const double y = static_cast<double>(std::get<std::int64_t>(params.at("y"))) / 99 - 0.2;
    return x * x + y * y + (std::get<std::string>(params.at("z")) == "c" ? 0 : 0.3);
  };
  const auto mean_best = [&](SearchMethod method) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const auto search = make_search(space, {.method = method, .seed = seed, .step = {}}).value();
      for (int i = 0; i < 60; ++i) {
        const Params params = search->ask().value().params;
        EXPECT_TRUE(search->tell({.params = params, .value = bowl(params)}));
      }
      sum += search->recommend().value().expected;
    }
    return sum / 30;
  };
  EXPECT_LT(mean_best(SearchMethod::tpe), mean_best(SearchMethod::random) / 2);
}

TEST(GridSearch, RefinesFromTheMiddle) {
  const auto space = Space::make({{"x", IntegerRange{0, 16, false}, std::int64_t{3}},
                                  {"y", IntegerRange{0, 16, false}, std::int64_t{3}}})
                         .value();
  const auto search =
      make_search(space, {.method = SearchMethod::grid, .seed = 4, .step = {}}).value();
  search->ask();
  // Each level adds the points whose coordinates are all multiples of half the previous spacing.
  std::size_t before = 0;
  for (const std::int64_t spacing : {8, 4, 2}) {
    const auto per_side = static_cast<std::size_t>(16 / spacing + 1);
    for (std::size_t i = before; i < per_side * per_side; ++i) {
      const Params params = search->ask().value().params;
      for (const auto& [name, value] : params) {
        EXPECT_EQ(std::get<std::int64_t>(value) % spacing, 0) << name << ", spacing " << spacing;
      }
    }
    before = per_side * per_side;
  }
}

TEST(SobolSearch, FillsEveryQuarterEarly) {
  const auto space = Space::make({{"x", IntegerRange{0, 63, false}, std::int64_t{0}},
                                  {"y", IntegerRange{0, 63, false}, std::int64_t{0}}})
                         .value();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto search =
        make_search(space, {.method = SearchMethod::sobol, .seed = seed, .step = {}}).value();
    search->ask();
    std::map<std::pair<bool, bool>, int> quarters;
    for (int i = 0; i < 64; ++i) {
      const Params params = search->ask().value().params;
      const auto half = [&](const char* name) {
        return std::get<std::int64_t>(params.at(name)) >= 32;
      };
      ++quarters[{half("x"), half("y")}];
    }
    for (const auto& [quarter, count] : quarters) EXPECT_NEAR(count, 16, 4);
  }
}

TEST(SearchMethods, AreReadAsTheyAreWritten) {
  for (const char* name : {"model", "random", "sobol", "tpe", "grid"}) {
    EXPECT_EQ(to_string(parse_search_method(name).value()), name);
  }
  const auto unknown = parse_search_method("annealing");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "expected a search method, one of model, random, sobol, tpe, grid; found "
            "\"annealing\"");
}

TEST(MakeSearch, AStepThatIsNotBelievedCountsAsNone) {
  constexpr std::int64_t kLeast = 1 << 16, kDefault = 1 << 20, kMost = 1 << 24;
  const auto space = Space::make({{"partition_bytes", IntegerRange{kLeast, kMost, true}, kDefault},
                                  {"credit_bytes", IntegerRange{kLeast, kMost, true}, kDefault}})
                         .value();
  const auto asked_with = [&](const std::optional<StepDescription>& step) {
    const auto search =
        make_search(space, {.method = SearchMethod::model, .seed = 1, .step = step}).value();
    std::vector<Params> asked;
    for (int i = 0; i < 5; ++i) {
      asked.push_back(search->ask()->params);
      EXPECT_TRUE(search->tell({.params = asked.back(), .value = 1e7 + 1e5 * (i % 3)}));
    }
    return asked;
  };
  StepDescription step;
  for (int i = 0; i < 4; ++i) step.layers.push_back({"", 4 << 20, 1'000'000, 2'000'000});
  step.collective = {100'000, 1, 0};
  const auto without = asked_with(std::nullopt);
  step.quality = {100, "uncertain, but no reason to withhold"};
  EXPECT_NE(asked_with(step), without);
  step.prediction_withheld = "bytes are not known";
  EXPECT_EQ(asked_with(step), without);
}

TEST(MakeSearch, RefusesWhatCannotBeSearched) {
  const auto point = Space::make({{"x", IntegerRange{1, 1, false}, std::int64_t{1}}}).value();
  const auto line = Space::make({{"x", IntegerRange{1, 9, false}, std::int64_t{1}}}).value();
  StepDescription broken;
  broken.ranks = -1;
  for (const SearchMethod method : {SearchMethod::model, SearchMethod::random, SearchMethod::sobol,
                                    SearchMethod::tpe, SearchMethod::grid}) {
    EXPECT_FALSE(make_search(point, {.method = method, .seed = 0, .step = {}}));
    EXPECT_FALSE(make_search(line, {.method = method, .seed = 0, .step = broken}));
    EXPECT_TRUE(make_search(line, {.method = method, .seed = 0, .step = {}}));
  }
}

}  // namespace
}  // namespace hocket
