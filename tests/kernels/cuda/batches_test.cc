#include "kernels/cuda/batches.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace hocket {
namespace {

TEST(Batches, AreTakenInTurn) {
  for (const std::size_t bytes : {1U, 7U, 8U, 4000U}) {
    std::vector<unsigned char> drawn(3 * bytes), to(bytes + 1, 0xee);
    std::iota(drawn.begin(), drawn.end(), 0);
    std::int64_t taken = 4;
    for (const std::size_t batch : {1U, 2U, 0U, 1U}) {
      ASSERT_TRUE(
          take_drawn(drawn.data(), static_cast<std::int64_t>(bytes), 3, &taken, to.data(), {}));
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], drawn[batch * bytes + i]) << i;
      EXPECT_EQ(to[bytes], 0xee);
    }
    EXPECT_EQ(taken, 8);
  }
}

TEST(Batches, ANumberIsKeptBehindTheOthers) {
  std::vector<float> kept(4, -1);
  std::int64_t count = 1;
  for (const float value : {2.5F, 3.5F}) ASSERT_TRUE(keep_number(&value, kept.data(), &count, {}));
  EXPECT_EQ(kept, (std::vector<float>{-1, 2.5F, 3.5F, -1}));
  EXPECT_EQ(count, 3);
}

// Counts exceed an int, as the places of numbers may.
TEST(Batches, AreCountedBeyond32Bits) {
  std::int64_t taken = (std::int64_t{1} << 32) - 1;
  const std::int32_t drawn[2] = {5, 6};
  std::int32_t to = 0;
  ASSERT_TRUE(take_drawn(drawn, sizeof to, 2, &taken, &to, {}));
  EXPECT_EQ(to, 6);
  EXPECT_EQ(taken, std::int64_t{1} << 32);
}

}  // namespace
}  // namespace hocket
