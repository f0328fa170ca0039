#include "core/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hocket {
namespace {

TEST(Statistics, MedianAndQuantiles) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(quantile({4, 3, 2, 1}, 0), 1);
  EXPECT_EQ(quantile({4, 3, 2, 1}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.25), 1.75);
}

TEST(Statistics, SpreadIsHalfTheInterquartileRange) {
  EXPECT_EQ(spread({7}), 0);
  EXPECT_DOUBLE_EQ(spread({1, 2, 3, 4, 5}), 1);
  EXPECT_DOUBLE_EQ(spread({1, 2, 3, 4, 1e9}), 1);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(10, 2);
  std::vector<double> values(100'000);
  for (double& value : values) value = normal(random);
  EXPECT_NEAR(spread(values), 0.6745 * 2, 0.02);
}

TEST(Statistics, MedianStandardErrorMatchesSimulation) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> medians, errors;
  for (int run = 0; run < 4000; ++run) {
    std::vector<double> values(101);
    for (double& value : values) value = normal(random);
    errors.push_back(median_standard_error(spread(values), values.size()));
    medians.push_back(median(std::move(values)));
  }
  EXPECT_NEAR(mean(errors), standard_deviation(medians), 0.005);
  EXPECT_EQ(median_standard_error(1, 1), 0);
}

TEST(Statistics, StudentQuantiles) {
  EXPECT_NEAR(student_t_quantile(0.95, 1), 6.3138, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 2), 2.9200, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.5, 7), 0, 1e-12);
}

TEST(Statistics, StandardDeviation) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(values), 5);
  EXPECT_DOUBLE_EQ(standard_deviation(values), std::sqrt(32.0 / 7));
  EXPECT_EQ(standard_deviation(std::vector<double>{3}), 0);
}

TEST(Statistics, KendallRankCorrelation) {
  const std::vector<double> up{1, 2, 3, 4}, down{9, 7, 5, 1}, equal{3, 3, 3, 3};
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, up), 1);
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, down), -1);
  EXPECT_EQ(kendall_tau_b(up, equal), 0);
  // Five pairs agree, one is tied in b: 5 / √(6·5).
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, std::vector<double>{1, 2, 2, 3}), 5 / std::sqrt(30.0));
  // Four of six pairs agree and two do not.
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, std::vector<double>{2, 1, 4, 3}), 2.0 / 6);
}

}  // namespace
}  // namespace hocket
