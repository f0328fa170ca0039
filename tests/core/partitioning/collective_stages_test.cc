#include "core/partitioning/collective_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;

constexpr RankGrid kTwoHosts{8, 4};
constexpr CollectiveGroup world = CollectiveGroup::world, inside = CollectiveGroup::inside,
                          between = CollectiveGroup::between;

Rule rule_of(bool halves, bool grouped) {
  Rule rule;
  if (halves) rule.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  rule.grouped = grouped;
  return rule;
}

TEST(Stages, OfAnAllReduceAreAsThePrimitiveAndTheGroupSay) {
  using enum CollectiveKind;
  const auto stages = [](bool halves, bool grouped) {
    return stages_of(all_reduce, world, rule_of(halves, grouped), kTwoHosts);
  };
  EXPECT_THAT(stages(false, false), ElementsAre(Stage{all_reduce, world}));
  EXPECT_THAT(stages(true, false),
              ElementsAre(Stage{reduce_scatter, world}, Stage{all_gather, world}));
  EXPECT_THAT(stages(false, true),
              ElementsAre(Stage{reduce_scatter, inside}, Stage{all_reduce, between, true},
                          Stage{all_gather, inside}));
  EXPECT_THAT(stages(true, true),
              ElementsAre(Stage{reduce_scatter, inside}, Stage{reduce_scatter, between, true},
                          Stage{all_gather, between, true}, Stage{all_gather, inside}));
}

TEST(Stages, OfAHalfAreTheHalfOfThose) {
  using enum CollectiveKind;
  EXPECT_THAT(stages_of(reduce_scatter, world, rule_of(false, true), kTwoHosts),
              ElementsAre(Stage{reduce_scatter, inside}, Stage{reduce_scatter, between, true}));
  EXPECT_THAT(stages_of(all_gather, world, rule_of(true, true), kTwoHosts),
              ElementsAre(Stage{all_gather, between, true}, Stage{all_gather, inside}));
}

TEST(Stages, OfSomeAxesAreTheTiersOfTheirRanks) {
  using enum CollectiveKind;
  const AxisSet axes = AxisSet::of(1);
  EXPECT_THAT(stages_of(all_reduce, {axes}, rule_of(false, true), kTwoHosts),
              ElementsAre(Stage{reduce_scatter, {axes, GroupTier::inside}},
                          Stage{all_reduce, {axes, GroupTier::between}, true},
                          Stage{all_gather, {axes, GroupTier::inside}}));
  EXPECT_THAT(stages_of(all_reduce, {axes}, rule_of(false, true), {2, 1}),
              ElementsAre(Stage{all_reduce, {axes}}));
}

TEST(Stages, ThereIsNoGroupOfOneRankNorOneWithinAGroup) {
  using enum CollectiveKind;
  const auto is_flat = [](CollectiveKind kind, CollectiveGroup group, const RankGrid& grid) {
    return stages_of(kind, group, rule_of(false, true), grid) ==
           std::vector<Stage>{{kind, group, false}};
  };
  EXPECT_TRUE(is_flat(all_reduce, world, {4, 4}));
  EXPECT_TRUE(is_flat(all_reduce, world, {4, 1}));
  EXPECT_TRUE(is_flat(all_reduce, inside, kTwoHosts));
  EXPECT_TRUE(is_flat(reduce_scatter, between, kTwoHosts));
  EXPECT_TRUE(is_flat(broadcast, world, kTwoHosts));
}

}  // namespace
}  // namespace hocket::partitioning
