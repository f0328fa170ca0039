#include "core/partitioning/workload_cuts.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

TEST(Cuts, OfAnAllReduceAreOfItsBufferAndOfABucketOfAllMembers) {
  const auto step = step_of(2, {all_reduce("s", 1000, 0), all_reduce("t", 280, 1)});
  Rule rule;
  rule.partition_bytes = 512;
  const CollectiveCut one = cut_collective(step, {0}, rule);
  EXPECT_FALSE(one.of_block);
  EXPECT_EQ(one.pieces, 2);
  EXPECT_EQ(one.piece(0), (Range{0, 512}));
  EXPECT_EQ(one.piece(1), (Range{512, 1000}));
  EXPECT_EQ(one.bytes_of(one.piece(1)), 488);
  const CollectiveCut both = cut_collective(step, {0, 1}, rule);
  EXPECT_EQ(both.pieces, 3);
  EXPECT_EQ(both.piece(2).end, 1280);
}

TEST(Cuts, OfAReduceScatterAreOfEveryRanksBlock) {
  auto step =
      step_of(1, {collective("s", CollectiveKind::reduce_scatter, 1000, {update(DataId{0})})});
  step.ranks = 4;
  step.ranks_per_host = 2;
  Rule rule;
  rule.partition_bytes = 512;
  CollectiveCut cut = cut_collective(step, {0}, rule);
  EXPECT_TRUE(cut.of_block);
  EXPECT_EQ(cut.bytes, 256);
  ASSERT_EQ(cut.pieces, 2);
  EXPECT_EQ(cut.piece(1), (Range{128, 256}));
  // The last block has 1000 - 3 · 256 = 232 bytes.
  EXPECT_EQ(cut.bytes_of(cut.piece(0)), 4 * 128);
  EXPECT_EQ(cut.bytes_of(cut.piece(1)), 3 * 128 + 104);

  // Between the hosts there are two blocks of the data of one place.
  step.tasks[0].group = CollectiveGroup::between;
  cut = cut_collective(step, {0}, rule);
  EXPECT_EQ(cut.bytes, 512);
  EXPECT_EQ(cut.pieces, 2);
}

TEST(Cuts, OfACollectiveOfNoBytesAreOneEmptyPiece) {
  for (const auto kind : kCollectiveKinds) {
    auto step = step_of(1, {collective("s", kind, 0, {update(DataId{0})})});
    step.ranks = 4;
    Rule rule;
    rule.partition_bytes = 512;
    const CollectiveCut cut = cut_collective(step, {0}, rule);
    EXPECT_EQ(cut.pieces, 1);
    EXPECT_EQ(cut.piece(0), (Range{0, 0}));
    EXPECT_EQ(cut.bytes_of(cut.piece(0)), 0);
  }
}

TEST(Cuts, OfAComputationAreWholeUnits) {
  const ComputeCut cut{0, 10, 4};
  EXPECT_EQ(cut.piece(0), (Range{0, 2}));
  EXPECT_EQ(cut.piece(1), (Range{2, 5}));
  EXPECT_EQ(cut.piece(2), (Range{5, 7}));
  EXPECT_EQ(cut.piece(3), (Range{7, 10}));
  const ComputeCut largest{0, std::int64_t{1} << 40, 64};
  EXPECT_EQ(largest.piece(63).end, std::int64_t{1} << 40);
}

std::optional<ComputeCut> cut_by(const StepTask& task, const Rule& rule) {
  return cut_computation(task, rule, {false, true});
}

TEST(Cuts, OfAComputationAreAlongTheFirstDimensionThatMeetsACollective) {
  StepTask task = computation("product", {read(DataId{0}), write(DataId{1})});
  const DimensionSlice other{DataId{0}, 0, 4, 0, false}, communicated{DataId{1}, 0, 4, 0, false};
  task.place.dimensions = {{"softmax", DimensionKind::normalized, 8, {communicated}},
                           {"one", DimensionKind::outer, 1, {communicated}},
                           {"batch", DimensionKind::outer, 8, {other}},
                           {"rows", DimensionKind::outer, 3, {communicated}}};
  Rule rule;
  EXPECT_FALSE(cut_by(task, rule));
  rule.compute_parts = 4;
  ASSERT_TRUE(cut_by(task, rule));
  EXPECT_EQ(cut_by(task, rule)->dimension, 3u);
  EXPECT_EQ(cut_by(task, rule)->pieces, 3);
  rule.dimension = "batch";
  EXPECT_EQ(cut_by(task, rule)->dimension, 2u);
  EXPECT_EQ(cut_by(task, rule)->pieces, 4);
  rule.dimension = "columns";
  EXPECT_FALSE(cut_by(task, rule));

  rule.dimension.reset();
  task.place.dimensions.pop_back();
  EXPECT_FALSE(cut_by(task, rule));
  rule.divides_all = true;
  EXPECT_EQ(cut_by(task, rule)->dimension, 2u);
}

TEST(Cuts, ASliceReachesToItsTailAndNeverOverflows) {
  const Dimension dimension{"rows", DimensionKind::outer, 4, {}};
  const DimensionSlice slice{DataId{0}, 100, 10, 7, false};
  EXPECT_EQ(bytes_of(slice, dimension, {1, 3}), (Range{110, 130}));
  EXPECT_EQ(bytes_of(slice, dimension, {3, 4}), (Range{130, 147}));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const DimensionSlice huge{DataId{0}, most, most, most, false};
  EXPECT_EQ(bytes_of(huge, dimension, {0, 4}).end, kEverything.end);
}

}  // namespace
}  // namespace hocket::partitioning
