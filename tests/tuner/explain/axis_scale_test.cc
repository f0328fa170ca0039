#include "tuner/explain/axis_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

/// Returns values of all magnitudes and signs.
double random_value(Random& random, bool positive) {
  const double magnitude = std::pow(10, static_cast<double>(pick(random, -300, 300)));
  const double value = (1 + random_unit(random)) * magnitude;
  return positive || pick(random, 0, 1) == 0 ? value : -value;
}

TEST(ValueScale, KeepsTheOrderBetweenItsEndsAndItsTicksInside) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool positive = pick(random, 0, 1) == 0;
    ValueScale scale;
    std::vector<double> values;
    for (auto n = pick(random, 2, 9); n > 0; --n) {
      values.push_back(random_value(random, positive));
      scale.add(values.back());
    }
    scale.add(NAN);
    scale.add(-INFINITY);
    std::ranges::sort(values);
    ASSERT_EQ(scale.place(values.front()), 0);
    ASSERT_EQ(scale.place(values.back()), 1);
    for (std::size_t i = 1; i < values.size(); ++i)
      ASSERT_LE(scale.place(values[i - 1]), scale.place(values[i]));
    const auto ticks = scale.ticks();
    ASSERT_LE(ticks.size(), 10U);
    ASSERT_FALSE(ticks.empty());
    ASSERT_TRUE(std::ranges::is_sorted(ticks));
    ASSERT_GE(ticks.front(), values.front());
    ASSERT_LE(ticks.back(), values.back());
  }
}

TEST(ValueScale, TicksAreRoundAndWideScalesLogarithmic) {
  ValueScale even;
  even.add(0);
  even.add(10);
  EXPECT_EQ(even.ticks(), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(even.place(5), 0.5);
  ValueScale wide;
  wide.add(1);
  wide.add(100);
  EXPECT_NEAR(wide.place(10), 0.5, 1e-12);
}

TEST(ValueScale, OneValueIsInTheMiddle) {
  ValueScale scale;
  EXPECT_EQ(scale.place(3), 0.5);
  scale.add(7);
  EXPECT_EQ(scale.place(7), 0.5);
  EXPECT_EQ(scale.ticks(), std::vector<double>{7});
}

}  // namespace
}  // namespace hocket
