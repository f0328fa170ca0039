#include "core/partitioning/data_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;

constexpr DataId kFirst{0}, kSecond{1};

std::vector<std::uint32_t> chunks_in(const ChunkTable& table, DataId data, Range range) {
  std::vector<DataId> found;
  table.append(data, range, found);
  std::vector<std::uint32_t> indices;
  for (const DataId chunk : found) indices.push_back(chunk.index);
  return indices;
}

TEST(ChunkTable, DividesDataAtTheCutsInItsCollective) {
  ChunkTable table(2);
  std::vector<std::string> names{"a", "b"};
  table.add_collective(kFirst, false, 300);
  for (const std::int64_t at : {200, 0, 100, 200, 300, 400}) table.add_cut(kFirst, false, at);
  table.finish(names);
  EXPECT_THAT(names, ElementsAre("a", "b", "a[0]", "a[1]", "a[2]"));
  EXPECT_THAT(chunks_in(table, kFirst, kEverything), ElementsAre(2, 3, 4));
  EXPECT_THAT(chunks_in(table, kFirst, {0, 100}), ElementsAre(2));
  EXPECT_THAT(chunks_in(table, kFirst, {99, 101}), ElementsAre(2, 3));
  EXPECT_THAT(chunks_in(table, kFirst, {500, 600}), ElementsAre(4));
  EXPECT_THAT(chunks_in(table, kFirst, {50, 50}), ElementsAre());
  EXPECT_THAT(chunks_in(table, kSecond, {50, 50}), ElementsAre(1));
}

TEST(ChunkTable, DividesDataOfComputationsAloneBetweenTheirPieces) {
  ChunkTable table(1);
  std::vector<std::string> names{"a"};
  for (const std::int64_t at : {0, 64, 64, 128}) table.add_cut(kFirst, false, at);
  table.finish(names);
  EXPECT_THAT(names, ElementsAre("a", "a[0]", "a[1]"));
}

TEST(ChunkTable, LeavesDataWholeThatAreCountedInTwoWays) {
  const auto is_divided = [](const auto& fill) {
    ChunkTable table(1);
    std::vector<std::string> names{"a"};
    fill(table);
    table.add_cut(kFirst, false, 64);
    table.add_cut(kFirst, true, 64);
    table.finish(names);
    return table.is_divided(kFirst);
  };
  EXPECT_FALSE(is_divided([](ChunkTable& table) {
    table.add_collective(kFirst, false, 256);
    table.add_collective(kFirst, true, 128);
  }));
  // The blocks have two sizes.
  EXPECT_FALSE(is_divided([](ChunkTable& table) {
    table.add_collective(kFirst, true, 256);
    table.add_collective(kFirst, true, 128);
  }));
  EXPECT_FALSE(is_divided([](ChunkTable&) {}));
  // A collective determines how its data are counted, so only one of the cuts applies.
  EXPECT_TRUE(is_divided([](ChunkTable& table) { table.add_collective(kFirst, true, 128); }));
}

}  // namespace
}  // namespace hocket::partitioning
