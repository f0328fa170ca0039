#include "job/graph/memory_hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;

ArenaBlock block(std::int64_t offset, std::int64_t bytes, std::size_t first, std::size_t last) {
  return {{offset, bytes, first, last}, false, 0};
}

TEST(MemoryHazards, ABlockFollowsThoseThatHadItsMemoryLast) {
  // 0 and 1 share the arena, 2 is over both, 3 over a part of 2.
  const auto before =
      blocks_before({block(0, 8, 0, 1), block(8, 8, 0, 1), block(4, 8, 2, 3), block(4, 4, 4, 5)});
  EXPECT_THAT(before[2], ElementsAre(0, 1));
  EXPECT_THAT(before[3], ElementsAre(2));
  // In the next step they find what was there at the end of this one.
  EXPECT_THAT(before[0], ElementsAre(0 + 3));
  EXPECT_THAT(before[1], ElementsAre(2));
}

TEST(MemoryHazards, ABlockThatIsAloneFollowsNone) {
  const auto before = blocks_before({block(0, 8, 0, 1), block(8, 8, 1, 2)});
  EXPECT_TRUE(before[0].empty());
  EXPECT_TRUE(before[1].empty());
}

TEST(MemoryHazards, BlocksAreInTheOrderOfTheirFirstOperations) {
  MemoryPlan plan;
  plan.places.resize(3);
  plan.places[0] = MemoryPlace{.offset_bytes = 0, .bytes = 4, .first = 5, .last = 6};
  plan.places[2] = MemoryPlace{.offset_bytes = 4, .bytes = 4, .first = 1, .last = 6};
  plan.scratch.resize(4);
  plan.scratch[3] = MemoryPlace{.offset_bytes = 8, .bytes = 4, .first = 3, .last = 3};
  const auto blocks = arena_blocks(plan);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].index, 2U);
  EXPECT_TRUE(blocks[1].is_scratch);
  EXPECT_EQ(blocks[1].index, 3U);
  EXPECT_EQ(blocks[2].index, 0U);
}

}  // namespace
}  // namespace hocket
