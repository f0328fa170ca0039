#include "core/cuda/collectives/device_pieces.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

/// A random part of `values`, in a random grid.
struct RandomPart {
  explicit RandomPart(std::uint64_t seed) : random(seed) {
    grid.ranks_per_host = 1 + below(4);
    grid.ranks = grid.ranks_per_host * (1 + below(4));
    rank = static_cast<int>(below(grid.ranks));
    values.resize(static_cast<std::size_t>(below(3) == 0 ? below(40) : below(3000)));
    part.collective.kind = kCollectiveKinds[static_cast<std::size_t>(below(3))];
    part.collective.group = kWorldGroups[static_cast<std::size_t>(below(3))];
    part.collective.values = values;
    if (below(2) == 0) return;
    part.collective.begin = static_cast<std::size_t>(below(100));
    part.collective.end = part.collective.begin + 1 + static_cast<std::size_t>(below(100));
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  }
  std::vector<DevicePiece> pieces() const {
    std::vector<DevicePiece> found(3);
    find_pieces(part, Mesh(grid), rank, found);
    return found;
  }

  std::mt19937_64 random;
  RankGrid grid;
  int rank = 0;
  std::vector<float> values;
  PartWork part;
};

/// Returns the owner of each value, given by address; −1 if the value is in no piece.
std::vector<int> owners_of(const std::vector<DevicePiece>& pieces,
                           std::span<const float* const> addresses) {
  std::vector<int> owners;
  for (const float* address : addresses) {
    int owner = -1;
    for (const DevicePiece& piece : pieces) {
      const std::span<float> values = piece.values.as<float>();
      if (address < values.data() || address >= values.data() + values.size()) continue;
      EXPECT_EQ(owner, -1) << "in two pieces";
      owner = piece.owner;
    }
    owners.push_back(owner);
  }
  return owners;
}

class DevicePieces : public testing::Test {
 protected:
  /// Calls `check(random)` for many random parts.
  void for_each(const auto& check) {
    const std::uint64_t first = std::random_device()();
    for (std::uint64_t seed = first; seed < first + 200 && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      RandomPart random(seed);
      check(random);
    }
  }
};

TEST_F(DevicePieces, AreInOrderAndAsFewAsCanBe) {
  for_each([](const RandomPart& random) {
    const auto pieces = random.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      ASSERT_FALSE(pieces[i].values.empty());
      if (i == 0) continue;
      const void* const end = pieces[i - 1].values.subspan(pieces[i - 1].values.size(), 0).data();
      ASSERT_LE(end, pieces[i].values.data());
      ASSERT_FALSE(end == pieces[i].values.data() && pieces[i].owner == pieces[i - 1].owner);
    }
  });
}

// Only the addresses of the values differ.
TEST_F(DevicePieces, OfABucketAreThoseOfItsValuesOneAfterTheOther) {
  for_each([](RandomPart& random) {
    std::vector<std::vector<float>> members;
    std::vector<ValueSpan> bucket;
    std::vector<const float*> joined, apart;
    for (std::size_t left = random.values.size(); left > 0; left -= members.back().size())
      members.emplace_back(1 +
                           static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left))));
    for (std::vector<float>& member : members) {
      bucket.emplace_back(member);
      for (const float& value : member) apart.push_back(&value);
    }
    for (const float& value : random.values) joined.push_back(&value);
    const auto expected = owners_of(random.pieces(), joined);
    random.part.bucket = bucket;
    random.part.collective.values = {};
    ASSERT_EQ(owners_of(random.pieces(), apart), expected);
  });
}

TEST(DevicePiecesOfWholes, HaveBlocksOfAsManyBytesForEachTypeOfElements) {
  std::vector<BFloat16> values(4 * 32);
  PartWork part;
  part.collective.kind = CollectiveKind::all_gather;
  part.collective.values = values;
  std::vector<DevicePiece> pieces;
  find_pieces(part, Mesh(RankGrid{.ranks = 4, .ranks_per_host = 4}), 0, pieces);
  ASSERT_EQ(pieces.size(), 4u);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].values.data(), values.data() + i * 32);
    EXPECT_EQ(pieces[i].values.size_bytes(), 64u);
    EXPECT_EQ(pieces[i].values.type(), ElementType::bfloat16);
  }
}

// Pieces for which NCCL has a collective of its own.
TEST(DevicePiecesOfWholes, AreEqualAndInTheOrderOfBlocks) {
  std::vector<float> values(6 * 1024);
  const RankGrid grid{.ranks = 6, .ranks_per_host = 3};
  PartWork part;
  part.collective.kind = CollectiveKind::reduce_scatter;
  part.collective.values = values;
  std::vector<DevicePiece> pieces;
  find_pieces(part, Mesh(grid), 4, pieces);
  ASSERT_EQ(pieces.size(), 6u);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].values.data(), values.data() + i * 1024);
    EXPECT_EQ(pieces[i].values.size(), 1024u);
    EXPECT_EQ(grid.block_of(pieces[i].owner), static_cast<std::int64_t>(i));
  }
  part.collective.kind = CollectiveKind::all_reduce;
  find_pieces(part, Mesh(grid), 4, pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].values.size(), values.size());
  // Between the hosts: the blocks that this rank has inside its host.
  part.collective.group = CollectiveGroup::between;
  find_pieces(part, Mesh(grid), 4, pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].values.data(), values.data() + 2 * 1024);
  EXPECT_EQ(pieces[0].values.size(), 2u * 1024);
}

}  // namespace
}  // namespace hocket
