#include "core/collective/optimizer_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hocket {
namespace {

/// The optimisers in double precision, for one parameter, as their papers give them.
struct Reference {
  double first = 0, second = 0;

  double step(const OptimizerStep& step, double sum) {
    const double gradient = sum * step.gradient_scale;
    if (step.kind == OptimizerKind::sgd) {
      first = step.momentum * first + gradient;
      return step.learning_rate * first;
    }
    first = step.beta1 * first + (1 - step.beta1) * gradient;
    second = step.beta2 * second + (1 - step.beta2) * gradient * gradient;
    const auto update = static_cast<double>(step.update);
    const double unbiased_first = first / (1 - std::pow(step.beta1, update)),
                 unbiased_second = second / (1 - std::pow(step.beta2, update));
    return step.learning_rate * unbiased_first / (std::sqrt(unbiased_second) + step.epsilon);
  }
};

TEST(OptimizerStep, IsThatOfTheReference) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<> unit(0, 1);
    OptimizerStep step{
        .kind = seed % 2 ? OptimizerKind::adamw : OptimizerKind::sgd,
        .gradient_scale = unit(random),
        .learning_rate = unit(random),
        .momentum = seed % 4 == 0 ? 0 : unit(random),
        .beta1 = unit(random),
        .beta2 = unit(random),
        .epsilon = 1e-3,
    };
    ASSERT_TRUE(validate(step));
    constexpr std::size_t kSize = 37;
    const auto moments = static_cast<std::size_t>(state_values(step));
    EXPECT_EQ(moments, seed % 2 ? 2U : seed % 4 == 0 ? 0U : 1U);
    std::vector<float> values(kSize), first(moments > 0 ? kSize : 0),
        second(moments > 1 ? kSize : 0);
    std::vector<Reference> reference(kSize);
    for (step.update = 1; step.update <= 5; ++step.update) {
      for (float& value : values) value = static_cast<float>(unit(random) - 0.5);
      const std::vector<float> sums = values;
      apply_optimizer_step(step, values, first, second);
      for (std::size_t i = 0; i < kSize; ++i)
        EXPECT_NEAR(values[i], reference[i].step(step, sums[i]), 1e-5);
    }
  }
}

TEST(OptimizerStep, NamesTheValueThatIsOutOfRange) {
  const auto why = [](const OptimizerStep& step) {
    const auto valid = validate(step);
    return valid ? std::string("valid") : valid.error().message;
  };
  EXPECT_EQ(why({}), "valid");
  EXPECT_NE(why({.momentum = 1}).find("momentum must be at least 0"), std::string::npos);
  EXPECT_NE(why({.beta2 = std::nan("")}).find("beta2"), std::string::npos);
  EXPECT_NE(why({.update = 0}).find("count from 1"), std::string::npos);
}

}  // namespace
}  // namespace hocket
