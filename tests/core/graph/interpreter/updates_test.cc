#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/graph/evaluated.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::HasSubstr;

/// Gradients of three steps.
const std::vector<std::vector<double>> kGradients = {
    {0.5, -1.0, 2.0}, {-0.25, 0.75, 1.5}, {1.0, 0.0, -3.0}};

Numbers rate_of(double rate) {
  return numbers_of({}, {rate});
}

// PyTorch 2.13 in float64, torch.optim.AdamW: three steps.
TEST(Adamw, IsThatOfPyTorch) {
  const Attributes attributes{
      {"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-3}, {"weight_decay", 0.2}};
  std::vector<Numbers> state = {numbers_of({3}, {1, -2, 0.5}), numbers_of({3}, {0, 0, 0}),
                                numbers_of({3}, {0, 0, 0})};
  for (std::size_t step = 0; step < 3; ++step) {
    state = results(Kind::adamw,
                    {state[0], numbers_of({3}, kGradients[step]), state[1], state[2], rate_of(0.1),
                     whole({}, {static_cast<double>(step + 1)})},
                    attributes);
  }
  expect_near(state[0].values, {0.7562878867120456, -1.781045945656381, 0.28820727984729416});
  expect_near(state[1].values, {0.224, -0.008, -0.104});
  expect_near(state[2].values, {0.06425, 0.07184375, 0.737375});
}

TEST(Adamw, FirstStepIsTheSignOfTheGradientBesideTheDecay) {
  const auto state =
      results(Kind::adamw,
              {numbers_of({2}, {2, 4}), numbers_of({2}, {0.5, -3}), numbers_of({2}, {0, 0}),
               numbers_of({2}, {0, 0}), rate_of(0.25), whole({}, {1})},
              {{"epsilon", 0.0}, {"weight_decay", 0.5}});
  expect_near(state[0].values, {2 - 0.25 * (1 + 0.5 * 2), 4 - 0.25 * (-1 + 0.5 * 4)});
}

TEST(Adamw, ScalesGradients) {
  const auto step = [](double gradient, double scale) {
    const Numbers x = numbers_of({1}, {1});
    return results(Kind::adamw,
                   {x, numbers_of({1}, {gradient}), x, x, rate_of(0.1), whole({}, {3})},
                   {{"gradient_scale", scale}, {"weight_decay", 0.5}});
  };
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(step(-6, 0.25)[i].values, step(-1.5, 1)[i].values) << i;
}

TEST(Sgd, ScalesGradients) {
  const auto step = [](double gradient, double scale) {
    const Numbers x = numbers_of({1}, {1});
    return results(Kind::sgd, {x, numbers_of({1}, {gradient}), x, rate_of(0.1)},
                   {{"gradient_scale", scale}, {"weight_decay", 0.5}});
  };
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(step(-6, 0.25)[i].values, step(-1.5, 1)[i].values) << i;
}

TEST(Adamw, CountsStepsFrom1) {
  const Numbers x = numbers_of({1}, {1});
  const auto found = try_operation(Kind::adamw, {x, x, x, x, rate_of(0.1), whole({}, {0})});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("adamw: step: expected 1 or more, found 0"));
}

TEST(Adamw, MomentsFade) {
  const Numbers x = numbers_of({1}, {1});
  for (const char* const beta : {"beta1", "beta2"}) {
    const auto found =
        try_operation(Kind::adamw, {x, x, x, x, rate_of(0.1), whole({}, {1})}, {{beta, 1.0}});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, std::string("adamw: ") + beta + ": expected less than 1");
  }
}

// PyTorch 2.13 in float64, torch.optim.SGD: three steps.
TEST(Sgd, IsThatOfPyTorch) {
  const Attributes attributes{{"momentum", 0.9}, {"weight_decay", 0.2}};
  std::vector<Numbers> state = {numbers_of({3}, {1, -2, 0.5}), numbers_of({3}, {0, 0, 0})};
  for (std::size_t step = 0; step < 3; ++step) {
    state =
        results(Kind::sgd, {state[0], numbers_of({3}, kGradients[step]), state[1], rate_of(0.1)},
                attributes);
  }
  expect_near(state[0].values, {0.704992, -1.656984, -0.064024});
  expect_near(state[1].values, {1.68408, -1.14816, 0.09224});
}

TEST(Sgd, WithoutMomentumGoesAgainstTheGradient) {
  const Numbers x = numbers_of({1}, {1});
  const auto state =
      results(Kind::sgd, {x, numbers_of({1}, {3}), numbers_of({1}, {7}), rate_of(0.5)});
  EXPECT_EQ(state[0].values[0], -0.5);
  EXPECT_EQ(state[1].values[0], 3);
}

}  // namespace
}  // namespace hocket
