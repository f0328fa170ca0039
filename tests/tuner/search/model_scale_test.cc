#include "tuner/search/model_scale.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket {
namespace {

TEST(ModelScale, IsThatOfLogarithmsWhileAllValuesHaveOneSign) {
  ModelScale scale;
  EXPECT_TRUE(scale.is_relative());
  EXPECT_FALSE(scale.add(2));
  EXPECT_FALSE(scale.add(5));
  EXPECT_DOUBLE_EQ(scale.level(2), std::log(2));
  EXPECT_DOUBLE_EQ(scale.level_error(2, 0.1), 0.05);
  EXPECT_EQ(scale.level_error(2, 100), 1);
  EXPECT_TRUE(scale.add(-1));
  EXPECT_FALSE(scale.is_relative());
  EXPECT_EQ(scale.level(-1), -1);
  EXPECT_EQ(scale.level_error(2, 0.1), 0.1);

  ModelScale of_costs;
  EXPECT_TRUE(of_costs.add(-200));
  EXPECT_TRUE(of_costs.is_relative());
  EXPECT_DOUBLE_EQ(of_costs.level(-200), -std::log(200));
  EXPECT_DOUBLE_EQ(of_costs.level_error(-200, 2), 0.01);
  EXPECT_TRUE(of_costs.add(0));
  EXPECT_FALSE(of_costs.is_relative());
}

TEST(ModelScale, KeepsTheOrderAndComesBack) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0.001, 1000);
  for (const double sign : {1.0, -1.0}) {
    ModelScale scale;
    scale.add(sign);
    for (int i = 0; i < 200; ++i) {
      const double a = sign * uniform(random), b = sign * uniform(random);
      EXPECT_EQ(a < b, scale.level(a) < scale.level(b)) << a << ' ' << b;
      EXPECT_NEAR(scale.value(scale.level(a)), a, 1e-9 * std::abs(a));
    }
  }
}

}  // namespace
}  // namespace hocket
