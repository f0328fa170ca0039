#include <gtest/gtest.h>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

TEST(HostRotary, TurnsAsTheInterpreterDoes) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 0, 2, 4);
    shape.push_back(random_size(random, 200));
    shape.push_back(2 * random_size(random, 12));
    expect_as_interpreted(
        {Kind::rotary,
         {random_numbers(random, shape)},
         {{"base", seed % 3 == 0 ? 100.0 : 10000.0}, {"inverse", random() % 2 == 0}}},
        random);
  }
}

TEST(HostRotary, IsExactAtLargePositions) {
  Random random(1);
  expect_as_interpreted({Kind::rotary, {random_numbers(random, {5000, 6})}}, random);
}

}  // namespace
}  // namespace hocket
