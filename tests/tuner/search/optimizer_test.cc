#include "tuner/search/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tests/rounds.h"
#include "tests/tuner/random_space.h"
#include "tests/tuner/search/real_params.h"

namespace hocket {
namespace {

using Function = std::function<double(const Params&)>;

Space square() {
  return Space::make({{"x", RealRange{-1, 1}, 0.9}, {"y", RealRange{-1, 1}, -0.9}}).value();
}

double bowl(const Params& params) {
  const double x = number(params, "x") - 0.31, y = number(params, "y") - 0.17;
  return 1 + x * x + 2 * y * y + x * y;
}

/// Returns a value derived from the params, and nothing for some of them.
std::optional<double> any_value(const Params& params, std::uint64_t seed) {
  std::size_t hash = seed;
  for (const auto& [name, value] : params) hash = hash * 31 + std::hash<ParameterValue>()(value);
  Random random(hash);
  if (pick(random, 0, 9) == 0) return std::nullopt;
  return std::exp(static_cast<double>(pick(random, -20, 20)));
}

SearchOptions with_seed(std::uint64_t seed) {
  return {.method = SearchMethod::model, .seed = seed, .step = {}};
}

std::optional<Params> ask(Optimizer& optimizer) {
  auto suggestion = optimizer.ask();
  return suggestion ? std::optional(std::move(suggestion->params)) : std::nullopt;
}

Result<void> tell(Optimizer& optimizer, const Params& params, double value) {
  return optimizer.tell({params, value, 0});
}

Result<void> tell_failure(Optimizer& optimizer, const Params& params) {
  return optimizer.tell({params, std::nullopt, 0});
}

TEST(Optimizer, AsksForTheDefaultFirst) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Optimizer optimizer(square(), with_seed(seed));
    EXPECT_EQ(ask(optimizer), square().defaults());
  }
}

TEST(Optimizer, AsksAFiniteSpaceOnceThenEnds) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const auto space = Space::make({{"a", IntegerRange{1, 5, true}, std::int64_t{1}},
                                    {"b", Choices{{"x", "y", "z"}}, std::string("z")},
                                    {"c", IntegerRange{7, 7}, std::int64_t{7}}})
                           .value();
    Optimizer optimizer(space, with_seed(seed));
    std::set<Params> asked;
    while (const auto params = ask(optimizer)) {
      ASSERT_TRUE(asked.insert(*params).second);
      if (const auto value = any_value(*params, seed)) {
        ASSERT_TRUE(tell(optimizer, *params, *value));
      } else {
        ASSERT_TRUE(tell_failure(optimizer, *params));
      }
    }
    ASSERT_EQ(asked.size(), 15u);
    ASSERT_FALSE(ask(optimizer));
  }
}

TEST(Optimizer, AsksInsideTheSpaceAndNeverTwice) {
  for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = random_space(random);
    Optimizer optimizer(space, with_seed(seed));
    std::set<Params> asked;
    for (int i = 0; i < 14; ++i) {
      const auto params = ask(optimizer);
      if (!params) {
        ASSERT_EQ(asked.size(), space.size());
        break;
      }
      ASSERT_TRUE(space.admit(*params));
      ASSERT_TRUE(asked.insert(*params).second);
      if (const auto value = any_value(*params, seed)) {
        ASSERT_TRUE(tell(optimizer, *params, *value));
      } else {
        ASSERT_TRUE(tell_failure(optimizer, *params));
      }
    }
  }
}

TEST(Optimizer, SeveralAsksMayBeOutstanding) {
  Optimizer optimizer(square(), with_seed(3));
  std::set<Params> asked;
  for (int i = 0; i < 30; ++i) {
    const auto params = ask(optimizer);
    ASSERT_TRUE(params);
    ASSERT_TRUE(asked.insert(*params).second);
    if (i % 2 == 0) {
      ASSERT_TRUE(tell(optimizer, *params, bowl(*params)));
    }
  }
}

TEST(Optimizer, GoesOnFromAToldHistory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = random_space(random);
    Optimizer whole(space, with_seed(seed));
    std::vector<Params> history;
    const auto tell_any = [&](Optimizer& optimizer, const Params& params) {
      const auto value = any_value(params, seed);
      ASSERT_TRUE(value ? tell(optimizer, params, *value) : tell_failure(optimizer, params));
    };
    for (int i = 0; i < 12; ++i) {
      Optimizer resumed(space, with_seed(seed));
      for (const auto& params : history) tell_any(resumed, params);
      const auto params = ask(whole);
      ASSERT_EQ(ask(resumed), params) << "after " << i;
      if (!params) break;
      tell_any(whole, *params);
      history.push_back(*params);
    }
  }
}

TEST(Optimizer, SeedsDiffer) {
  Optimizer a(square(), with_seed(1)), b(square(), with_seed(2));
  ask(a);
  ask(b);
  EXPECT_NE(ask(a), ask(b));
}

double best_after(int trials, const Function& function, std::uint64_t seed) {
  Optimizer optimizer(square(), with_seed(seed));
  double best = INFINITY;
  for (int i = 0; i < trials; ++i) {
    const auto params = ask(optimizer).value();
    const double value = function(params);
    best = std::min(best, value);
    EXPECT_TRUE(tell(optimizer, params, value));
  }
  return best;
}

double best_at_random(int trials, const Function& function, std::uint64_t seed) {
  Random random(seed);
  double best = function(square().defaults());
  for (int i = 1; i < trials; ++i) {
    best = std::min(best, function(square().decode({random_unit(random), random_unit(random)})));
  }
  return best;
}

TEST(Optimizer, BeatsRandomSearchOnASmoothFunction) {
  double searched = 0, random = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    searched += best_after(20, bowl, seed) - 1;
    random += best_at_random(20, bowl, seed) - 1;
  }
  EXPECT_LT(searched, random / 10);
}

TEST(Optimizer, BeatsRandomSearchOnNegativeValuesToo) {
  const Function function = [](const Params& params) { return bowl(params) - 3; };
  double searched = 0, random = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    searched += best_after(20, function, seed) + 2;
    random += best_at_random(20, function, seed) + 2;
  }
  EXPECT_LT(searched, random / 10);
}

TEST(Optimizer, SeesValuesOfManyMagnitudesByTheirLogarithm) {
  const Function function = [](const Params& params) { return std::exp(8 * bowl(params)); };
  double searched = 0, random = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    searched += std::log(best_after(20, function, seed)) - 8;
    random += std::log(best_at_random(20, function, seed)) - 8;
  }
  EXPECT_LT(searched, random / 10);
}

TEST(Optimizer, KeepsAwayFromFailures) {
  // Half of the square fails; the rest slopes towards the border.
  int failures = 0, asked = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Optimizer optimizer(square(), with_seed(seed));
    for (int i = 0; i < 25; ++i) {
      const auto params = ask(optimizer).value();
      const bool fails = number(params, "x") > 0;
      if (i >= 10) {
        ++asked;
        failures += fails ? 1 : 0;
      }
      ASSERT_TRUE(fails ? tell_failure(optimizer, params)
                        : tell(optimizer, params, 2 - number(params, "y")));
    }
  }
  EXPECT_LT(failures, asked / 4);
}

TEST(Optimizer, SurvivesWhatNoModelLikes) {
  const Params middle = square().decode({0.5, 0.5});
  const std::pair<const char*, Function> histories[] = {
      {"constant", [](const Params&) { return 7.0; }},
      {"zero", [](const Params&) { return 0.0; }},
      {"huge", [](const Params& p) { return 1e308 * number(p, "x"); }},
      {"tiny", [](const Params& p) { return 5e-324 * (2 + std::round(number(p, "y"))); }},
      {"steep", [](const Params& p) { return std::exp(300 * number(p, "x")); }},
  };
  for (const auto& [name, function] : histories) {
    SCOPED_TRACE(name);
    Optimizer optimizer(square(), with_seed(1));
    for (int i = 0; i < 20; ++i) {
      const auto params = ask(optimizer);
      ASSERT_TRUE(params && square().admit(*params));
      ASSERT_TRUE(tell(optimizer, *params, function(*params)));
    }
  }
  Optimizer repeated(square(), with_seed(2));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(tell(repeated, middle, i % 2 == 0 ? 1.0 : 2.0));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(square().admit(ask(repeated).value()));

  Optimizer failing(square(), with_seed(3));
  for (int i = 0; i < 20; ++i) {
    const auto params = ask(failing);
    ASSERT_TRUE(params);
    ASSERT_TRUE(tell_failure(failing, *params));
  }
}

TEST(Optimizer, EndsInARealRangeThatHoldsFewNumbers) {
  const double next = std::nextafter(1.0, 2.0);
  const auto space = Space::make({{"x", RealRange{1, next}, 1.0}}).value();
  Optimizer optimizer(space, with_seed(0));
  std::set<Params> asked;
  while (const auto params = ask(optimizer)) {
    ASSERT_TRUE(asked.insert(*params).second);
    ASSERT_TRUE(tell(optimizer, *params, 1));
  }
  EXPECT_EQ(asked.size(), 2u);
}

/// Returns values that a broken or unusual job could report, and failures.
std::optional<double> odd_value(Random& random) {
  switch (pick(random, 0, 5)) {
    case 0:
      return std::nullopt;
    case 1:
      return 7;
    case 2:
      return 1e308;
    case 3:
      return -5e-324;
    default:
      return static_cast<double>(pick(random, -1000, 1000)) / 3;
  }
}

/// Tells up to `most` random points, some of them twice, some excluded, with random values.
void tell_random_history(Optimizer& optimizer, const Space& space, std::int64_t most,
                         std::set<Params>& told, Random& random) {
  Params params = space.defaults();
  for (auto count = pick(random, 0, most); count > 0; --count) {
    if (pick(random, 0, 3) > 0) {
      UnitPoint unit(space.parameters().size());
      for (double& coordinate : unit) coordinate = random_unit(random);
      params = space.decode(unit);
    }
    const auto value = odd_value(random);
    const auto ok = value ? tell(optimizer, params, *value) : tell_failure(optimizer, params);
    ASSERT_EQ(bool(ok), space.allows(params));
    if (ok) told.insert(params);
  }
}

TEST(Optimizer, AsksForAllowedPointsOnlyWhateverItWasTold) {
  std::uint64_t spaces = 0, ended = 0;
  for (std::uint64_t seed = 0; spaces < rounds(2'500); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) continue;
    ++spaces;
    Optimizer optimizer(*space, with_seed(seed));
    std::set<Params> known;
    // Uses the model in one space out of eight only: it takes most of the time.
    ASSERT_NO_FATAL_FAILURE(
        tell_random_history(optimizer, *space, seed % 8 == 0 ? 10 : 2, known, random));
    const int asks = space->allowed_size() <= 16 ? 17 : 3;
    for (int i = 0; i < asks; ++i) {
      const auto params = ask(optimizer);
      if (!params) {
        ++ended;
        // If all points can be counted, the search ends when all were asked.
        if (space->size() <= Space::kLatticeLimit) {
          ASSERT_EQ(known.size(), space->allowed_size());
        }
        break;
      }
      ASSERT_TRUE(space->admit(*params));
      ASSERT_TRUE(known.insert(*params).second);
      if (const auto value = odd_value(random)) {
        ASSERT_TRUE(tell(optimizer, *params, *value));
      }
    }
  }
  EXPECT_GT(ended, rounds(25));
}

TEST(Optimizer, EndsInALargeSpaceThatAllowsFewPoints) {
  const std::vector<Parameter> large{
      {"a", IntegerRange{1, 1'000'000'000}, std::int64_t{77}},
      {"b", Levels{{std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}}, std::int64_t{2}}};
  for (const auto& [constraints, points] :
       std::vector<std::pair<std::vector<std::string>, std::size_t>>{
           {{"a==77", "b==2"}, 1}, {{"a==77"}, 3}, {{"a<=3*b", "a<=2", "b<=2"}, 4}}) {
    auto parameters = large;
    if (points == 4) parameters[0].default_value = std::int64_t{1};
    const auto space = Space::make(parameters, constraints).value();
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(constraints.front());
      Optimizer optimizer(space, with_seed(seed));
      std::set<Params> asked;
      while (const auto params = ask(optimizer)) {
        ASSERT_TRUE(space.admit(*params));
        ASSERT_TRUE(asked.insert(*params).second);
        ASSERT_LE(asked.size(), points);
        ASSERT_TRUE(tell(optimizer, *params, 1));
      }
      EXPECT_GE(asked.size(), 1u);
      EXPECT_FALSE(ask(optimizer));
    }
  }
}

TEST(Optimizer, RefusesWhatWasNotMeasured) {
  Optimizer optimizer(square(), with_seed(0));
  const Params params = square().defaults();
  EXPECT_EQ(tell(optimizer, params, NAN).error().message, "expected a finite value, found nan");
  EXPECT_FALSE(tell(optimizer, params, INFINITY));
  EXPECT_FALSE(tell(optimizer, {{"x", 0.0}}, 1));
  EXPECT_FALSE(tell(optimizer, {{"x", 0.0}, {"y", 7.0}}, 1));
  EXPECT_FALSE(tell_failure(optimizer, {{"z", 0.0}}));
  EXPECT_EQ(ask(optimizer), params);
}

}  // namespace
}  // namespace hocket
