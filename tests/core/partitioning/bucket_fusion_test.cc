#include "core/partitioning/bucket_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;

std::vector<Sources> joined(const StepDescription& step, std::int64_t bucket_bytes,
                            std::vector<std::uint32_t> rule_of_task = {}) {
  Rule rule;
  rule.bucket_bytes = bucket_bytes;
  Rules rules = rules_of(step, rule);
  rules.rules.push_back(rule);
  if (!rule_of_task.empty()) rules.of_task = std::move(rule_of_task);
  std::vector<std::uint32_t> order(step.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  return join_buckets(step, rules, order);
}

StepDescription three_sums() {
  return step_of(4, {all_reduce("s0", 100, 0), computation("c", {update(DataId{3})}),
                     all_reduce("s1", 100, 1), all_reduce("s2", 100, 2)});
}

TEST(Buckets, TakeConsecutiveAllReducesUpToTheirSizeAndStandWhereTheLastOneStood) {
  EXPECT_THAT(joined(three_sums(), 200), ElementsAre(Sources{1}, Sources({0, 2}), Sources{3}));
  EXPECT_THAT(joined(three_sums(), 300), ElementsAre(Sources{1}, Sources({0, 2, 3})));
  EXPECT_THAT(joined(three_sums(), 199),
              ElementsAre(Sources{0}, Sources{1}, Sources{2}, Sources{3}));
  EXPECT_EQ(joined(three_sums(), 0), items_of(three_sums()));
}

TEST(Buckets, AreFollowedByWhatWaitsForAMember) {
  auto step = three_sums();
  step.tasks[1].accesses = {read(DataId{0})};
  EXPECT_THAT(joined(step, 300), ElementsAre(Sources({0, 2, 3}), Sources{1}));
  // A member may not wait for another member, nor for a task that waits for one.
  step.tasks[1].accesses = {read(DataId{0}), write(DataId{1})};
  EXPECT_THAT(joined(step, 300), ElementsAre(Sources{0}, Sources{1}, Sources({2, 3})));
  // Two members may not change the same data.
  step = three_sums();
  step.tasks[3].accesses = {update(DataId{1})};
  EXPECT_THAT(joined(step, 300), ElementsAre(Sources{1}, Sources({0, 2}), Sources{3}));
  // Data that a member only reads may be read in between, but not changed.
  step = three_sums();
  step.tasks[0].accesses.push_back(read(DataId{3}));
  EXPECT_THAT(joined(step, 300), ElementsAre(Sources({0, 2, 3}), Sources{1}));
  step.tasks[1].accesses = {read(DataId{3})};
  EXPECT_THAT(joined(step, 300), ElementsAre(Sources{1}, Sources({0, 2, 3})));
}

TEST(Buckets, AreOfOneRuleGroupAndKind) {
  EXPECT_THAT(joined(three_sums(), 300, {0, 0, 0, 1}),
              ElementsAre(Sources{1}, Sources({0, 2}), Sources{3}));
  auto step = three_sums();
  step.tasks[2].group = CollectiveGroup::inside;
  EXPECT_EQ(joined(step, 300), items_of(step));
  step = three_sums();
  step.tasks[2].collective = CollectiveKind::all_gather;
  EXPECT_EQ(joined(step, 300), items_of(step));
  // If a collective changes several data, the owner of each part is not known.
  step = three_sums();
  step.tasks[2].accesses.push_back(update(DataId{3}));
  EXPECT_EQ(joined(step, 300), items_of(step));
}

}  // namespace
}  // namespace hocket::partitioning
