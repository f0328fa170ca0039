#include "profiler/metrics/straggler_tests.h"

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

TEST(StragglerTests, BinomialTailsAddUp) {
  EXPECT_NEAR(binomial_tail(4, 3, 0.5), 5.0 / 16, 1e-12);
  EXPECT_NEAR(binomial_tail(10, 10, 0.25), std::pow(0.25, 10), 1e-12);
  EXPECT_DOUBLE_EQ(binomial_tail(10, 0, 0.25), 1);
  EXPECT_DOUBLE_EQ(binomial_tail(10, 11, 0.25), 0);
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
