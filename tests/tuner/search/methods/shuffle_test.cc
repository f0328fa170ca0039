#include "tuner/search/methods/shuffle.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hocket {
namespace {

TEST(Shuffle, HasEachNumberOnce) {
  for (std::uint64_t size = 1; size < 200; ++size) {
    SCOPED_TRACE(size);
    const Shuffle shuffle(size, size * 7);
    std::vector<int> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_LT(shuffle[i], size);
      ++seen[shuffle[i]];
    }
    for (const int count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(Shuffle, StaysInsideTheLargestSize) {
  const Shuffle shuffle(std::numeric_limits<std::uint64_t>::max() - 1, 5);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_LT(shuffle[shuffle.size() - 1 - i], shuffle.size());
  }
}

TEST(Shuffle, SeedsDiffer) {
  const Shuffle a(1000, 1), b(1000, 2);
  int differ = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) differ += a[i] != b[i] ? 1 : 0;
  EXPECT_GT(differ, 500);
}

}  // namespace
}  // namespace hocket
