#include "core/collective/part_sizes.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

TEST(Partition, PartsAreAlignedAsFewAsPossibleAndCoverTheWhole) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 40)));
    const auto partition =
        static_cast<std::int64_t>(1 + random() % (std::uint64_t{1} << (random() % 34)));
    SCOPED_TRACE(testing::Message() << bytes << " bytes in parts of " << partition);
    const std::int64_t size = part_bytes(bytes, partition);
    const std::int64_t count = part_count(bytes, partition);
    ASSERT_EQ(size % kPartAlignmentBytes, 0);
    ASSERT_LE(size, std::max(partition, kPartAlignmentBytes));
    ASSERT_GE(count, 1);
    ASSERT_GE(size * count, bytes);
    ASSERT_LT(size * (count - 1), std::max<std::int64_t>(bytes, 1));
    const std::int64_t limit =
        std::max(partition / kPartAlignmentBytes, std::int64_t{1}) * kPartAlignmentBytes;
    ASSERT_LE(count, std::max<std::int64_t>((bytes + limit - 1) / limit, 1));
  }
}

}  // namespace
}  // namespace hocket
