#include "tuner/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using testing::Random;
using Function = std::function<double(const Params&)>;

double number(const Params& params, const char* name) {
  return std::get<double>(params.at(name));
}

Space square() {
  return Space::make({{"x", RealRange{-1, 1}, 0.9}, {"y", RealRange{-1, 1}, -0.9}}).value();
}

double bowl(const Params& params) {
  const double x = number(params, "x") - 0.31, y = number(params, "y") - 0.17;
  return 1 + x * x + 2 * y * y + x * y;
}

/// A value for any params, and none for some of them.
std::optional<double> any_value(const Params& params, std::uint64_t seed) {
  std::size_t hash = seed;
  for (const auto& [name, value] : params) hash = hash * 31 + std::hash<ParameterValue>()(value);
  Random random(hash);
  if (testing::pick(random, 0, 9) == 0) return std::nullopt;
  return std::exp(static_cast<double>(testing::pick(random, -20, 20)));
}

TEST(Optimizer, AsksForTheDefaultFirst) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Optimizer optimizer(square(), seed);
    EXPECT_EQ(optimizer.ask(), square().defaults());
  }
}

TEST(Optimizer, AsksAFiniteSpaceOnceThenEnds) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const auto space = Space::make({{"a", IntegerRange{1, 5, true}, std::int64_t{1}},
                                    {"b", Choices{{"x", "y", "z"}}, std::string("z")},
                                    {"c", IntegerRange{7, 7}, std::int64_t{7}}})
                           .value();
    Optimizer optimizer(space, seed);
    std::set<Params> asked;
    while (const auto params = optimizer.ask()) {
      ASSERT_TRUE(asked.insert(*params).second);
      if (const auto value = any_value(*params, seed)) {
        ASSERT_TRUE(optimizer.tell(*params, *value));
      } else {
        ASSERT_TRUE(optimizer.tell_failure(*params));
      }
    }
    ASSERT_EQ(asked.size(), 15u);
    ASSERT_FALSE(optimizer.ask());
  }
}

TEST(Optimizer, AsksInsideTheSpaceAndNeverTwice) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = testing::random_space(random);
    Optimizer optimizer(space, seed);
    std::set<Params> asked;
    for (int i = 0; i < 14; ++i) {
      const auto params = optimizer.ask();
      if (!params) {
        ASSERT_EQ(asked.size(), space.size());
        break;
      }
      ASSERT_TRUE(space.admit(*params));
      ASSERT_TRUE(asked.insert(*params).second);
      if (const auto value = any_value(*params, seed)) {
        ASSERT_TRUE(optimizer.tell(*params, *value));
      } else {
        ASSERT_TRUE(optimizer.tell_failure(*params));
      }
    }
  }
}

TEST(Optimizer, SeveralAsksMayBeOutstanding) {
  Optimizer optimizer(square(), 3);
  std::set<Params> asked;
  for (int i = 0; i < 30; ++i) {
    const auto params = optimizer.ask();
    ASSERT_TRUE(params);
    ASSERT_TRUE(asked.insert(*params).second);
    if (i % 2 == 0) {
      ASSERT_TRUE(optimizer.tell(*params, bowl(*params)));
    }
  }
}

TEST(Optimizer, GoesOnFromAToldHistory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Space space = testing::random_space(random);
    Optimizer whole(space, seed);
    std::vector<Params> history;
    const auto tell = [&](Optimizer& optimizer, const Params& params) {
      const auto value = any_value(params, seed);
      ASSERT_TRUE(value ? optimizer.tell(params, *value) : optimizer.tell_failure(params));
    };
    for (int i = 0; i < 12; ++i) {
      Optimizer resumed(space, seed);
      for (const auto& params : history) tell(resumed, params);
      const auto params = whole.ask();
      ASSERT_EQ(resumed.ask(), params) << "after " << i;
      if (!params) break;
      tell(whole, *params);
      history.push_back(*params);
    }
  }
}

TEST(Optimizer, SeedsDiffer) {
  Optimizer a(square(), 1), b(square(), 2);
  a.ask();
  b.ask();
  EXPECT_NE(a.ask(), b.ask());
}

double best_after(int trials, const Function& function, std::uint64_t seed) {
  Optimizer optimizer(square(), seed);
  double best = INFINITY;
  for (int i = 0; i < trials; ++i) {
    const auto params = optimizer.ask().value();
    const double value = function(params);
    best = std::min(best, value);
    EXPECT_TRUE(optimizer.tell(params, value));
  }
  return best;
}

double best_at_random(int trials, const Function& function, std::uint64_t seed) {
  Random random(seed);
  double best = function(square().defaults());
  for (int i = 1; i < trials; ++i) {
    best = std::min(
        best,
        function(square().decode({testing::random_unit(random), testing::random_unit(random)})));
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
  // Half of the square fails; the rest is a slope towards the border.
  int failures = 0, asked = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Optimizer optimizer(square(), seed);
    for (int i = 0; i < 25; ++i) {
      const auto params = optimizer.ask().value();
      const bool fails = number(params, "x") > 0;
      if (i >= 10) {
        ++asked;
        failures += fails ? 1 : 0;
      }
      ASSERT_TRUE(fails ? optimizer.tell_failure(params)
                        : optimizer.tell(params, 2 - number(params, "y")));
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
    Optimizer optimizer(square(), 1);
    for (int i = 0; i < 20; ++i) {
      const auto params = optimizer.ask();
      ASSERT_TRUE(params && square().admit(*params));
      ASSERT_TRUE(optimizer.tell(*params, function(*params)));
    }
  }
  Optimizer repeated(square(), 2);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(repeated.tell(middle, i % 2 == 0 ? 1.0 : 2.0));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(square().admit(repeated.ask().value()));

  Optimizer failing(square(), 3);
  for (int i = 0; i < 20; ++i) {
    const auto params = failing.ask();
    ASSERT_TRUE(params);
    ASSERT_TRUE(failing.tell_failure(*params));
  }
}

TEST(Optimizer, EndsInARealRangeThatHoldsFewNumbers) {
  const double next = std::nextafter(1.0, 2.0);
  const auto space = Space::make({{"x", RealRange{1, next}, 1.0}}).value();
  Optimizer optimizer(space, 0);
  std::set<Params> asked;
  while (const auto params = optimizer.ask()) {
    ASSERT_TRUE(asked.insert(*params).second);
    ASSERT_TRUE(optimizer.tell(*params, 1));
  }
  EXPECT_EQ(asked.size(), 2u);
}

TEST(Optimizer, RefusesWhatWasNotMeasured) {
  Optimizer optimizer(square(), 0);
  const Params params = square().defaults();
  EXPECT_EQ(optimizer.tell(params, NAN).error().message, "expected a finite value, found nan");
  EXPECT_FALSE(optimizer.tell(params, INFINITY));
  EXPECT_FALSE(optimizer.tell({{"x", 0.0}}, 1));
  EXPECT_FALSE(optimizer.tell({{"x", 0.0}, {"y", 7.0}}, 1));
  EXPECT_FALSE(optimizer.tell_failure({{"z", 0.0}}));
  EXPECT_EQ(optimizer.ask(), params);
}

}  // namespace
}  // namespace hocket
