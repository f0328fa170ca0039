#include "core/partitioning/task_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Pieces made(const StepDescription& step, const Rule& rule) {
  auto pieces = make_pieces(step, rules_of(step, rule), items_of(step));
  EXPECT_TRUE(pieces);
  return pieces ? std::move(*pieces) : Pieces{};
}

/// Returns a product whose rows are communicated in pieces, and the update that waits for them.
StepDescription chain(DimensionKind kind) {
  StepTask product = computation("product", {read(DataId{0}), write(DataId{1})});
  product.place.dimensions = {{"units", kind, 4, {{DataId{1}, 0, 64, 0, false}}}};
  if (kind == DimensionKind::contraction) product.place.dimensions[0].slices[0].data = DataId{0};
  return step_of(2, {product, all_reduce("sum", 256, kind == DimensionKind::outer ? 1 : 0),
                     computation("update", {read(DataId{1})})});
}

TEST(Pieces, OfAChainWaitForEachOtherAlone) {
  Rule rule;
  rule.partition_bytes = 128;
  rule.compute_parts = 2;
  const Pieces pieces = made(chain(DimensionKind::outer), rule);
  EXPECT_THAT(texts_of(pieces), ElementsAre("product[0]: read a, write b[0]",
                                            "product[1]: read a, write b[1]", "sum[0]: update b[0]",
                                            "sum[1]: update b[1]", "update: read b[0], read b[1]"));
  EXPECT_EQ(pieces.pieces[1].origin, (PieceOrigin{{0}, 0, 2, 4}));
  EXPECT_EQ(pieces.pieces[1].task.duration_ns, 50);
  EXPECT_EQ(pieces.pieces[3].origin, (PieceOrigin{{1}, 0, 128, 256}));
  EXPECT_EQ(pieces.pieces[3].task.bytes, 128);
}

TEST(Pieces, AfterTheFirstOneCostWhatDividingAdds) {
  auto step = chain(DimensionKind::outer);
  step.tasks[0].place.dimensions[0].piece_ns = 7;
  Rule rule;
  rule.partition_bytes = 128;
  rule.compute_parts = 2;
  const Pieces pieces = made(step, rule);
  EXPECT_EQ(pieces.pieces[0].task.duration_ns, 50);
  EXPECT_EQ(pieces.pieces[1].task.duration_ns, 57);
  rule.compute_parts = 1;
  EXPECT_EQ(made(step, rule).pieces[0].task.duration_ns, 100);
}

TEST(Pieces, ASliceCountsForAComputationThatIsWhole) {
  auto step = chain(DimensionKind::outer);
  step.tasks[0].place.dimensions[0].extent = 2;
  Rule rule;
  rule.partition_bytes = 128;
  EXPECT_THAT(texts_of(made(step, rule)).front(), "product: read a, write b[0]");
}

TEST(Pieces, OfAContractionAddToWhatTheFirstOneWrote) {
  Rule rule;
  rule.partition_bytes = 128;
  rule.compute_parts = 2;
  EXPECT_THAT(texts_of(made(chain(DimensionKind::contraction), rule)),
              ElementsAre("product[0]: read a[0], write b", "product[1]: read a[1], update b",
                          "sum[0]: update a[0]", "sum[1]: update a[1]", "update: read b"));
}

TEST(Pieces, StagesOfOneRunBesideThoseOfTheNext) {
  auto step = step_of(1, {all_reduce("s", 192, 0)});
  step.ranks = 4;
  step.ranks_per_host = 2;
  Rule rule;
  rule.partition_bytes = 64;
  rule.grouped = true;
  const Pieces pieces = made(step, rule);
  std::vector<std::string> names;
  for (const Piece& piece : pieces.pieces) names.push_back(piece.task.name);
  EXPECT_THAT(names, ElementsAre("s[0] reduce_scatter inside", "s[1] reduce_scatter inside",
                                 "s[0] all_reduce between", "s[2] reduce_scatter inside",
                                 "s[1] all_reduce between", "s[0] all_gather inside",
                                 "s[2] all_reduce between", "s[1] all_gather inside",
                                 "s[2] all_gather inside"));
  EXPECT_EQ(pieces.pieces[0].task.bytes, 64);
  EXPECT_EQ(pieces.pieces[2].task.bytes, 32);
  EXPECT_EQ(pieces.pieces[2].task.group, CollectiveGroup::between);
}

TEST(Pieces, OfABucketTakeTheMembersThatTheyOverlapAndTheirUrgency) {
  auto step = step_of(2, {all_reduce("s", 96, 0), all_reduce("t", 96, 1)});
  step.tasks[0].priority = 5;
  step.tasks[1].priority = 3;
  Rule rule;
  rule.partition_bytes = 64;
  const auto pieces = make_pieces(step, rules_of(step, rule), {{0, 1}});
  ASSERT_TRUE(pieces);
  EXPECT_THAT(texts_of(*pieces),
              ElementsAre("s to t[0]: update a[0]", "s to t[1]: update a[1], update b[0]",
                          "s to t[2]: update b[1]"));
  EXPECT_EQ(pieces->pieces[1].origin, (PieceOrigin{{0, 1}, 0, 64, 128}));
  EXPECT_EQ(pieces->pieces[1].task.priority, 3u);
}

TEST(Pieces, OfACollectiveThatChangesSeveralDataKeepTheirOrder) {
  const auto step = step_of(
      2, {collective("s", CollectiveKind::broadcast, 128, {write(DataId{0}), update(DataId{1})})});
  Rule rule;
  rule.partition_bytes = 64;
  EXPECT_THAT(texts_of(made(step, rule)),
              ElementsAre("s[0]: write a, update b", "s[1]: update a, update b"));
}

TEST(Pieces, WhatChangesNothingHasNoStages) {
  const auto step =
      step_of(1, {collective("s", CollectiveKind::all_reduce, 64, {read(DataId{0})})});
  Rule rule;
  rule.partition_bytes = 64;
  rule.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  EXPECT_THAT(texts_of(made(step, rule)), ElementsAre("s: read a"));
}

TEST(Pieces, OfTheLastStageAreDeferredButForAReduceScatter) {
  const auto step =
      step_of(2, {all_reduce("s", 64, 0),
                  collective("t", CollectiveKind::reduce_scatter, 64, {update(DataId{1})})});
  Rule rule;
  rule.partition_bytes = 64;
  rule.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  rule.launch = CollectiveLaunch::deferred;
  const Pieces pieces = made(step, rule);
  ASSERT_EQ(pieces.pieces.size(), 3u);
  EXPECT_FALSE(pieces.pieces[0].deferred);
  EXPECT_TRUE(pieces.pieces[1].deferred);
  EXPECT_FALSE(pieces.pieces[2].deferred);
}

TEST(Pieces, AreAtMostAMillionAndDoNotFillTheMemory) {
  Rule rule;
  rule.partition_bytes = 4096;
  auto step = step_of(1, {all_reduce("s", kMaxStepTaskBytes, 0)});
  auto refused = make_pieces(step, rules_of(step, rule), items_of(step));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("partition_bytes: found 4096"));
  EXPECT_THAT(refused.error().message, HasSubstr("\"s\""));

  // The number of pieces is permitted, but many tasks read them.
  step = step_of(1, {all_reduce("s", 500'000 * 4096L, 0)});
  for (int i = 0; i < 1000; ++i)
    step.tasks.push_back(computation("t" + std::to_string(i), {read(DataId{0})}));
  refused = make_pieces(step, rules_of(step, rule), items_of(step));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("accesses"));
}

}  // namespace
}  // namespace hocket::partitioning
