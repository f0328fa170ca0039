#include "core/collective/collective_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/core/step/random_mesh.h"

namespace hocket {
namespace {

struct RandomWork {
  explicit RandomWork(std::uint64_t seed) : random(seed) {
    mesh = random_mesh(random);
    work.group = {random_axes(mesh, random)};
    grid = mesh.grid_of(work.group.axes);
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
  /// Returns the rank's index in the grid of the group's axes.
  std::int64_t index(std::int64_t rank) const { return mesh.index_in(work.group.axes, rank); }
  std::int64_t owner_block(std::size_t i) const { return static_cast<std::int64_t>(i / block()); }

  std::mt19937_64 random;
  Mesh mesh;
  RankGrid grid;  // of the group's axes
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
      for (const GroupTier tier : kGroupTiers) {
        random.work.group.tier = tier;
        for (std::int64_t rank = 0; rank < random.mesh.grid().ranks; ++rank) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ", group " << random.mesh.name_of(random.work.group)
                       << ", rank " << rank);
          check(random, CollectiveBlocks(random.work, random.mesh, rank), rank);
          if (HasFailure()) return;
        }
      }
    }
  }
};

TEST_F(CollectiveBlocksOfRandomWorks, MembersAreThoseOfTheGroupInOrder) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t rank) {
    std::vector<std::int64_t> found;
    for (std::size_t member = 0; member < blocks.members(); ++member)
      found.push_back(blocks.rank_of(member));
    EXPECT_EQ(found, random.mesh.ranks_of(random.work.group, rank));
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
      const bool of_group =
          random.work.group.tier != GroupTier::between ||
          random.owner_block(i) / grid.hosts() == grid.place_of(random.index(rank));
      if (of_group && random.takes(i)) meant.insert(i);
    }
    EXPECT_EQ(all, meant);
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, AMemberOwnsItsOwnBlockAndInsideThoseOfItsPlace) {
  for_each([](const RandomWork& random, const CollectiveBlocks& blocks, std::int64_t) {
    const RankGrid& grid = random.grid;
    for (std::size_t member = 0; member < blocks.members(); ++member) {
      const std::int64_t owner = random.index(blocks.rank_of(member));
      for (const std::size_t i : values_of(blocks.piece(member))) {
        const std::int64_t block = random.owner_block(i);
        if (random.work.group.tier == GroupTier::inside) {
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
      const CollectiveBlocks other(random.work, random.mesh, blocks.rank_of(member));
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
    const bool one = whole || random.work.group.tier != GroupTier::inside;
    for (std::size_t member = 0; one && member < blocks.members(); ++member)
      EXPECT_EQ(blocks.piece(member).size(), 1u);
  });
}

TEST_F(CollectiveBlocksOfRandomWorks, WhatIsOwnedInsideIsWhatIsDividedBetween) {
  for_each([](RandomWork random, const CollectiveBlocks&, std::int64_t rank) {
    random.work.group.tier = GroupTier::inside;
    const CollectiveBlocks inside(random.work, random.mesh, rank);
    random.work.group.tier = GroupTier::between;
    const CollectiveBlocks between(random.work, random.mesh, rank);
    std::set<std::size_t> divided;
    for (std::size_t member = 0; member < between.members(); ++member)
      divided.merge(values_of(between.piece(member)));
    EXPECT_EQ(values_of(inside.piece(inside.own())), divided);
  });
}

TEST(CollectiveBlocks, ABufferSmallerThanTheRanksLeavesTheLastWithNothing) {
  std::vector<float> values(20);
  const Mesh mesh(RankGrid{4, 1});
  const CollectiveBlocks blocks({.values = values}, mesh, 3);
  EXPECT_EQ(blocks.piece(0)[0], (ValueRange{0, 16}));
  EXPECT_EQ(blocks.piece(1)[0], (ValueRange{16, 20}));
  EXPECT_EQ(blocks.piece_size(3), 0u);
  EXPECT_EQ(blocks.size(), 20u);
}

}  // namespace
}  // namespace hocket
