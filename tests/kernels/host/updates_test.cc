#include <gtest/gtest.h>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

TEST(HostUpdates, AdamW) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 0, 2, 40);
    const auto numbers = [&](double low) { return random_numbers(random, shape, low, 2); };
    const double step = static_cast<double>(random_between(random, 1, seed % 2 == 0 ? 3 : 100000));
    expect_as_interpreted({Kind::adamw,
                           {numbers(-2), numbers(-2), numbers(-2), numbers(0.01),
                            numbers_of({}, {0.05}), whole({}, {step})},
                           {{"beta1", seed % 3 == 0 ? 0.0 : 0.9},
                            {"beta2", 0.95},
                            {"weight_decay", seed % 2 == 0 ? 0.0 : 0.1},
                            {"gradient_scale", seed % 5 == 0 ? -0.5 : 1.0}}},
                          random);
  }
}

TEST(HostUpdates, AdamWRefusesStepsBeforeTheFirst) {
  Random random(1);
  const Numbers x = random_numbers(random, {3});
  EXPECT_EQ(kernel_error({Kind::adamw, {x, x, x, x, numbers_of({}, {0.1}), whole({}, {0})}}),
            "step: expected 1 or more, found 0");
}

TEST(HostUpdates, Sgd) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 0, 2, 40);
    const auto numbers = [&] { return random_numbers(random, shape); };
    expect_as_interpreted({Kind::sgd,
                           {numbers(), numbers(), numbers(), numbers_of({}, {0.05})},
                           {{"momentum", seed % 3 == 0 ? 0.0 : 0.9},
                            {"weight_decay", seed % 2 == 0 ? 0.0 : 0.1},
                            {"gradient_scale", seed % 5 == 0 ? -0.5 : 1.0}}},
                          random);
  }
}

}  // namespace
}  // namespace hocket
