#include "tuner/search/methods/parzen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

/// Returns values of `domain` as they occur in a history.
std::vector<ParameterValue> some_values(const Domain& domain, Random& random) {
  std::vector<ParameterValue> values(static_cast<std::size_t>(pick(random, 1, 60)));
  for (auto& value : values) value = decode(domain, random_unit(random));
  return values;
}

TEST(ParzenWindows, AreADistributionOverTheValues) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Domain domain = random_domain(random);
    if (value_count(domain) > 1000) continue;
    const ParzenWindows windows(domain, some_values(domain, random));
    double sum = 0;
    for (std::uint64_t i = 0; i < value_count(domain); ++i) {
      const double density = std::exp(windows.log_density(value_at(domain, i)));
      EXPECT_GT(density, 0);
      sum += density;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

TEST(ParzenWindows, DrawWhatTheirDensitySays) {
  constexpr int kDraws = 20'000;
  const Domain domains[] = {Choices{{"a", "b", "c"}}, IntegerRange{1, 6, false},
                            IntegerRange{1, 8, true},
                            Levels{{std::int64_t{1}, std::int64_t{2}, std::int64_t{64}}}};
  for (const Domain& domain : domains) {
    SCOPED_TRACE(describe(domain));
    Random random(1);
    std::vector<ParameterValue> values = some_values(domain, random);
    values.resize(std::min<std::size_t>(values.size(), 5));
    const ParzenWindows windows(domain, values);
    std::map<ParameterValue, int> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[windows.draw(random)];
    for (std::uint64_t i = 0; i < value_count(domain); ++i) {
      const auto value = value_at(domain, i);
      EXPECT_NEAR(counts[value] / double{kDraws}, std::exp(windows.log_density(value)), 0.015)
          << to_text(value);
    }
  }
}

TEST(ParzenWindows, PreferWhatWasSeen) {
  const Domain number = IntegerRange{0, 100, false};
  const ParzenWindows near_twenty(number, {std::int64_t{19}, std::int64_t{20}, std::int64_t{22}});
  EXPECT_GT(near_twenty.log_density(std::int64_t{20}), near_twenty.log_density(std::int64_t{80}));
  const Domain choice = Choices{{"a", "b"}};
  const ParzenWindows mostly_b(choice, {std::string("b"), std::string("b"), std::string("a")});
  EXPECT_GT(mostly_b.log_density(std::string("b")), mostly_b.log_density(std::string("a")));
}

TEST(ParzenWindows, ForgetWhatIsLongAgo) {
  const Domain number = IntegerRange{0, 100, false};
  std::vector<ParameterValue> values(30, std::int64_t{10});
  values.insert(values.end(), 30, std::int64_t{90});
  const ParzenWindows windows(number, values);
  EXPECT_GT(windows.log_density(std::int64_t{90}), windows.log_density(std::int64_t{10}));
}

TEST(ParzenWindows, TakeRangesOfAnyWidth) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Domain domain = random_domain(random);
    const ParzenWindows windows(domain, some_values(domain, random));
    for (int i = 0; i < 50; ++i) {
      const auto value = windows.draw(random);
      ASSERT_TRUE(admit(domain, value));
      ASSERT_TRUE(std::isfinite(windows.log_density(value)));
    }
  }
}

}  // namespace
}  // namespace hocket
