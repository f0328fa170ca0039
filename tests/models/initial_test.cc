#include "models/initial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hocket {
namespace {

std::vector<float> drawn(std::string_view name, std::int64_t first, std::size_t count,
                         std::uint64_t seed = 7) {
  std::vector<float> values(count);
  draw_initial(normal(0.02), seed, name, first, values);
  return values;
}

TEST(Initial, APartIsDrawnByItself) {
  const std::vector<float> whole = drawn("a.weight", 0, 1000);
  for (const std::int64_t first : {0, 1, 2, 3, 499, 999}) {
    const std::vector<float> part =
        drawn("a.weight", first, 1000 - static_cast<std::size_t>(first));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first)) << first;
  }
}

TEST(Initial, SeedNameAndPlaceDecide) {
  const std::vector<float> one = drawn("a.weight", 0, 64);
  EXPECT_EQ(one, drawn("a.weight", 0, 64));
  const auto differs = [&](const std::vector<float>& other) {
    for (std::size_t i = 0; i < one.size(); ++i)
      if (one[i] == other[i]) return false;
    return true;
  };
  EXPECT_TRUE(differs(drawn("b.weight", 0, 64)));
  EXPECT_TRUE(differs(drawn("a.weight", 0, 64, 8)));
  EXPECT_TRUE(differs(drawn("a.weight", 0, 64, 7 + (std::uint64_t{1} << 32))));
  EXPECT_TRUE(differs(drawn("a.weight", std::int64_t{1} << 31, 64)));
  EXPECT_TRUE(differs(drawn("a.weight", std::int64_t{1} << 40, 64)));
}

/// Computed by a program of another language from the rule that the header states.
TEST(Initial, NumbersStayWhatTheyAre) {
  EXPECT_EQ(drawn("embedding.tokens", 0, 4),
            (std::vector<float>{0.0159094632f, -0.0052144411f, 0.0232503824f, 0.0121512599f}));
}

TEST(Initial, HasTheMomentsOfANormal) {
  constexpr std::size_t kCount = 400'000;
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, previous = 0;
  std::size_t within_one = 0, within_two = 0;
  for (const float value : drawn("a.weight", 0, kCount)) {
    const double x = value / 0.02;
    sum += x, squares += x * x, fourth += x * x * x * x;
    neighbours += x * previous;
    previous = x;
    within_one += std::abs(x) < 1, within_two += std::abs(x) < 2;
  }
  const double count = kCount;
  EXPECT_NEAR(sum / count, 0, 0.006);
  EXPECT_NEAR(squares / count, 1, 0.01);
  EXPECT_NEAR(fourth / count, 3 - 1.2 / 16, 0.05);
  EXPECT_NEAR(neighbours / count, 0, 0.006);
  EXPECT_NEAR(static_cast<double>(within_one) / count, 0.6827, 0.006);
  EXPECT_NEAR(static_cast<double>(within_two) / count, 0.9545, 0.003);
}

TEST(Initial, FillsWithZerosAndOnes) {
  std::vector<float> values(3, 5.0f);
  draw_initial({}, 1, "x", 0, values);
  EXPECT_EQ(values, (std::vector<float>{0, 0, 0}));
  draw_initial({DistributionKind::ones}, 1, "x", 0, values);
  EXPECT_EQ(values, (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace hocket
