#include "archive/profiles/rank_ranges.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(RanksText, NeighboursAreRanges) {
  EXPECT_EQ(ranks_text({4}), "rank 4");
  EXPECT_EQ(ranks_text({1, 5, 4, 3}), "ranks 1, 3 to 5");
  EXPECT_EQ(ranks_text({2, 2, 3}), "ranks 2 to 3");
}

}  // namespace
}  // namespace hocket
