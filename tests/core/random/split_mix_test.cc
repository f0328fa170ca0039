#include "core/random/split_mix.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hocket {
namespace {

// First outputs of the published SplitMix64 generator, seeded with 1234567.
TEST(SplitMix, IsSplitMix64) {
  EXPECT_EQ(random_bits(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(random_bits(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(random_bits(1234567, 2), 9817491932198370423u);
}

TEST(SplitMix, NormalHasTheMomentsOfANormal) {
  constexpr int kCount = 200'000;
  for (std::uint64_t key = 0; key < 4; ++key) {
    SCOPED_TRACE(testing::Message() << "key " << key);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, previous = 0;
    for (int i = 0; i < kCount; ++i) {
      const double x = random_normal(key, static_cast<std::uint64_t>(i));
      ASSERT_LE(std::abs(x), 6.0);
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      neighbours += x * previous;
      previous = x;
    }
    EXPECT_NEAR(sum / kCount, 0.0, 0.02);
    EXPECT_NEAR(squares / kCount, 1.0, 0.02);
    EXPECT_NEAR(fourth / kCount, 2.9, 0.1);  // the fourth moment of a sum of twelve is 3 - 1.2 / 12
    EXPECT_NEAR(neighbours / kCount, 0.0, 0.02);
  }
}

TEST(SplitMix, UsesDrawFromDifferentSequences) {
  EXPECT_NE(random_key(1, RandomUse::parameters), random_key(1, RandomUse::batches));
  EXPECT_NE(random_key(1, RandomUse::parameters), random_key(2, RandomUse::parameters));
}

}  // namespace
}  // namespace hocket
