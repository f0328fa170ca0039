#include "core/collective/collective_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace hocket {
namespace {

struct RandomWork {
  explicit RandomWork(std::uint64_t seed) : random(seed) {
    grid.ranks_per_host = pick(1, 5);
    grid.ranks = grid.ranks_per_host * pick(1, 5);
    values.resize(static_cast<std::size_t>(pick(0, 3) == 0 ? pick(0, 40) : pick(0, 3000)));
    work.values = values;
    if (pick(0, 1) == 0) return;
    work.begin = static_cast<std::size_t>(pick(0, 100));
    work.end = work.begin + static_cast<std::size_t>(pick(1, 100));
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }
  std::size_t block() const {
    return static_cast<std::size_t>(
               block_bytes(static_cast<std::int64_t>(work.values.size_bytes()), grid.ranks)) /
           sizeof(float);
  }
  /// Returns whether the work covers the value at `i`.
  bool takes(std::size_t i) const {
    const bool whole = work.begin == 0 && work.end == 0;
    return whole || (i % block() >= work.begin && i % block() < work.end);
  }
  std::int64_t owner_block(std::size_t i) const { return static_cast<std::int64_t>(i / block()); }

  std::mt19937_64 random;
  RankGrid grid;
  std::vector<float> values;
  CollectiveWork work;
};

/// Returns the values of a piece; expects each to occur once.
std::set<std::size_t> values_of(std::span<const ValueRange> piece) {
  std::set<std::size_t> values;
  for (const ValueRange& range : piece)
    for (std::size_t i = range.begin; i < range.end; ++i) EXPECT_TRUE(values.insert(i).second) << i;
  return values;
}

class CollectiveBlocksOfRandomWorks : public testing::Test {
 protected:
  /// Calls `check(random, blocks, rank)` for every group and rank of many random works.
  void for_each(const auto& check) {
    const std::uint64_t first = std::random_device()();
    for (std::uint64_t seed = first; seed < first + 100; ++seed) {
      RandomWork random(seed);
      for (const CollectiveGroup group : kCollectiveGroups) {
        random.work.group = group;
        for (std::int64_t rank = 0; rank < random.grid.ranks; ++rank) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ", group " << to_string(group) << ", rank " << rank);
          check(random, CollectiveBlocks(random.work, random.grid, rank), rank);
          if (HasFailure()) return;
        }
      }
    }
  }
};

TEST_F(CollectiveBlocksOfRandomWorks, MembersAreThoseOfTheGroupInOrder) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t rank) {
    const RankGrid& grid = random.grid;
    std::vector<std::int64_t> expected, found;
    for (std::int64_t other = 0; other < grid.ranks; ++other) {
      const bool together = random.work.group == CollectiveGroup::world ||
                            (random.work.group == CollectiveGroup::inside
                                 ? grid.host_of(other) == grid.host_of(rank)
                                 : grid.place_of(other) == grid.place_of(rank));
      if (together) expected.push_back(other);
    }
    for (std::size_t member = 0; member < blocks.members(); ++member)
      found.push_back(blocks.rank_of(member));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(blocks.rank_of(blocks.own()), rank);
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, PiecesAreDisjointAndTogetherWhatTheGroupTakes) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t rank) {
    const RankGrid& grid = random.grid;
    std::set<std::size_t> all;
    std::size_t sum = 0;
    for (std::size_t member = 0; member < blocks.members(); ++member) {
      const auto piece = values_of(blocks.piece(member));
      EXPECT_EQ(piece.size(), blocks.piece_size(member));
      sum += piece.size();
      all.insert(piece.begin(), piece.end());
    }
    EXPECT_EQ(all.size(), sum) << "two pieces share a value";
    EXPECT_EQ(blocks.size(), sum);
    std::set<std::size_t> meant;
    for (std::size_t i = 0; i < random.values.size(); ++i) {
      const bool of_group = random.work.group != CollectiveGroup::between ||
                            random.owner_block(i) / grid.hosts() == grid.place_of(rank);
      if (of_group && random.takes(i)) meant.insert(i);
    }
    EXPECT_EQ(all, meant);
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, AMemberOwnsItsOwnBlockAndInsideThoseOfItsPlace) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t) {
    const RankGrid& grid = random.grid;
    for (std::size_t member = 0; member < blocks.members(); ++member) {
      const std::int64_t owner = blocks.rank_of(member);
      for (const std::size_t i : values_of(blocks.piece(member))) {
        const std::int64_t block = random.owner_block(i);
        if (random.work.group == CollectiveGroup::inside) {
          EXPECT_EQ(block / grid.hosts(), grid.place_of(owner)) << "value " << i;
        } else {
          EXPECT_EQ(block, grid.block_of(owner)) << "value " << i;
        }
      }
    }
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, AreTheSameOnEveryRankOfTheGroup) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t) {
    for (std::size_t member = 0; member < blocks.members(); ++member) {
      const CollectiveBlocks other(random.work, random.grid, blocks.rank_of(member));
      ASSERT_EQ(other.members(), blocks.members());
      EXPECT_EQ(other.own(), member);
      for (std::size_t m = 0; m < blocks.members(); ++m)
        EXPECT_TRUE(std::ranges::equal(other.piece(m), blocks.piece(m)));
    }
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, WholeBlocksAreOneRangeForEachMember) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t) {
    const bool whole = random.work.begin == 0 && random.work.end == 0;
    const bool one = whole || random.work.group != CollectiveGroup::inside;
    for (std::size_t member = 0; one && member < blocks.members(); ++member)
      EXPECT_EQ(blocks.piece(member).size(), 1u);
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, WhatIsOwnedInsideIsWhatIsDividedBetween) {
  for_each([](RandomWork random, const CollectiveBlocks&, std::int64_t rank) {
    random.work.group = CollectiveGroup::inside;
    const CollectiveBlocks inside(random.work, random.grid, rank);
    random.work.group = CollectiveGroup::between;
    const CollectiveBlocks between(random.work, random.grid, rank);
    std::set<std::size_t> divided;
    for (std::size_t member = 0; member < between.members(); ++member)
      divided.merge(values_of(between.piece(member)));
    EXPECT_EQ(values_of(inside.piece(inside.own())), divided);
  });
}

TEST(CollectiveBlocks, ABufferSmallerThanTheRanksLeavesTheLastWithNothing) {
  std::vector<float> values(20);
  const CollectiveBlocks blocks({.values = values}, {.ranks = 4, .ranks_per_host = 1}, 3);
  EXPECT_EQ(blocks.piece(0)[0], (ValueRange{0, 16}));
  EXPECT_EQ(blocks.piece(1)[0], (ValueRange{16, 20}));
  EXPECT_EQ(blocks.piece_size(3), 0u);
  EXPECT_EQ(blocks.size(), 20u);
}

}  // namespace
}  // namespace hocket
