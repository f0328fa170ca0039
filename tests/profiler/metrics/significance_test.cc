#include "profiler/metrics/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hocket {
namespace {

TEST(StragglerTests, SumsOfUniformNumbersHaveTheirExactTail) {
  EXPECT_DOUBLE_EQ(uniform_sum_tail(3, 2, 3), 1.0 / 8);
  EXPECT_DOUBLE_EQ(uniform_sum_tail(2, 6, 9), 3.0 / 36);
  EXPECT_DOUBLE_EQ(uniform_sum_tail(4, 3, 0), 1);
  EXPECT_DOUBLE_EQ(uniform_sum_tail(4, 3, 9), 0);
  EXPECT_DOUBLE_EQ(uniform_sum_tail(10, 4, 30), std::pow(4.0, -10));
}

TEST(StragglerTests, ManyDrawsAreCloseToTheNormalDistribution) {
  EXPECT_NEAR(uniform_sum_tail(200, 5, 430), uniform_sum_tail(201, 5, 432), 0.003);
  EXPECT_NEAR(uniform_sum_tail(1000, 2, 500), 0.5126, 0.001);
}

TEST(StragglerTests, SumsOfDrawnWeightsHaveTheirExactTail) {
  // There are 16 sets of the numbers to 4, of which {4, 3, 2}, {4, 3, 1} and all four sum to 8 or
  // more.
  const auto even = drawn_sum_tails(std::vector<std::int64_t>{3, 1, 4, 2}, 0.5);
  ASSERT_EQ(even.size(), 11u);
  EXPECT_DOUBLE_EQ(even[0], 1);
  EXPECT_DOUBLE_EQ(even[8], 3.0 / 16);
  EXPECT_DOUBLE_EQ(even[10], 1.0 / 16);
  const auto rare = drawn_sum_tails(std::vector<std::int64_t>{0, 3, 1, 4, 2}, 0.25);
  EXPECT_NEAR(rare[9], std::pow(0.25, 3) * 0.75 + std::pow(0.25, 4), 1e-15);
  const auto many = drawn_sum_tails(std::vector<std::int64_t>(40, 5), 0.25);
  EXPECT_NEAR(many.back() / std::pow(0.25, 40), 1, 1e-9);
  EXPECT_EQ(drawn_sum_tails({}, 0.5), std::vector<double>{1});
}

TEST(StragglerTests, TrendsAreFound) {
  std::vector<double> rising, zigzag;
  for (int i = 0; i < 30; ++i) {
    rising.push_back(3.0 * i + (i % 3));
    zigzag.push_back(i % 2);
  }
  EXPECT_LT(trend_chance(rising), 1e-9);
  EXPECT_NEAR(median_slope(rising), 3, 0.05);
  EXPECT_GT(trend_chance(zigzag), 0.5);
  EXPECT_DOUBLE_EQ(trend_chance(std::vector<double>{1, 2}), 1);
  EXPECT_DOUBLE_EQ(median_slope(std::vector<double>{1}), 0);
}

TEST(StragglerTests, HolmCorrectsStepByStep) {
  const auto corrected = holm_corrected(std::vector<double>{0.04, 0.01, 0.03});
  ASSERT_EQ(corrected.size(), 3u);
  EXPECT_DOUBLE_EQ(corrected[1], 0.03);
  EXPECT_DOUBLE_EQ(corrected[2], 0.06);
  EXPECT_DOUBLE_EQ(corrected[0], 0.06);
}

}  // namespace
}  // namespace hocket
