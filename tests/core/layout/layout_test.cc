#include "core/layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/layout/rank_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Layout, SaysWhichAxesDivideADimension) {
  Layout layout(2);
  EXPECT_TRUE(layout.is_whole());
  layout.divide(1, {0, 1});
  layout.divide(0, {0, 1});
  EXPECT_THAT(layout.divided(0), ElementsAre(DividedDimension{0, 1}, DividedDimension{1, 1}));
  EXPECT_EQ(layout.place(1), (DividedPlace{0, 1}));
  layout.make_whole(0);
  EXPECT_TRUE(layout.is_whole(0));
  EXPECT_FALSE(layout.is_whole());
  layout.make_partial(0);
  EXPECT_TRUE(layout.is_partial(0));
  EXPECT_EQ(to_string(layout, data_tensor()), "[tensor, -], a summand along data");
}

TEST(Layout, DividesPartsOfADimension) {
  Layout layout(1);
  layout.divide(1, {0, 3});
  EXPECT_EQ(local_shape(layout, {24}, data_tensor()), Shape{6});
  EXPECT_THAT(local_indices(layout, 0, 24, data_tensor(), 1),
              ElementsAre(IndexRange{2, 4}, IndexRange{10, 12}, IndexRange{18, 20}));
  EXPECT_EQ(to_string(layout, data_tensor()), "[tensor*3]");
}

TEST(Layout, RefusesWhatCannotBeDividedEvenly) {
  Layout layout(2);
  layout.divide(1, {1, 1});
  const auto error = check_layout(layout, {8, 30}, data_tensor());
  ASSERT_FALSE(error);
  EXPECT_THAT(error.error().message, AllOf(HasSubstr("dimension 1 of [8, 30]"),
                                           HasSubstr("over tensor"), HasSubstr("28 and 32")));
  Layout parts(1);
  parts.divide(0, {0, 1});
  parts.divide(1, {0, 3});
  EXPECT_THAT(check_layout(parts, {24}, data_tensor()).error().message,
              HasSubstr("of which none has whole parts"));
}

/// Ranks that differ in axes that do not divide a dimension have the same indices; of the others
/// each index is on one.
TEST(Layout, EachIndexIsOnOneRankOfThoseThatShareIt) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(200); ++round) {
    const Mesh mesh = random_mesh(8, random);
    const std::int64_t size = std::int64_t{1} << (3 + random() % 3);
    const Layout layout = random_layout({size}, mesh, random);
    std::vector<std::int64_t> owners(static_cast<std::size_t>(size));
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      std::int64_t count = 0;
      for (const IndexRange& range : local_indices(layout, 0, size, mesh, rank)) {
        count += range.end - range.begin;
        for (std::int64_t i = range.begin; i < range.end; ++i)
          ++owners[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(count, local_shape(layout, {size}, mesh)[0]);
    }
    for (const std::int64_t owner : owners)
      EXPECT_EQ(owner, 8 / blocks_of(layout, 0, mesh)) << to_string(layout, mesh);
  }
}

}  // namespace
}  // namespace hocket
