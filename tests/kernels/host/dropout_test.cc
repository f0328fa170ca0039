#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

Numbers random_key(Random& random) {
  const auto word = [&] {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(random())));
  };
  return whole({2}, {word(), word()});
}

// The interpreter is compared with the published generator (tests/core/graph/interpreter).
TEST(HostDropout, DropsWhatTheInterpreterDrops) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_numbers(random, random_shape_up_to(random, 0, 3, 14), 1, 2);
    const double rate = seed % 4 == 0 ? 0 : std::uniform_real_distribution(0.0, 0.95)(random);
    const auto stream = static_cast<std::int64_t>(random() >> 32);
    expect_as_interpreted(
        {Kind::dropout, {x, random_key(random)}, {{"rate", rate}, {"stream", stream}}, 40}, random);
  }
}

TEST(HostDropout, OfManyBlocks) {
  Random random(1);
  for (const std::int64_t count : {255, 256, 257, 5000}) {
    expect_as_interpreted({Kind::dropout,
                           {random_numbers(random, {count}, 1, 2), random_key(random)},
                           {{"rate", 0.5}, {"stream", std::int64_t{3}}}},
                          random);
  }
}

}  // namespace
}  // namespace hocket
