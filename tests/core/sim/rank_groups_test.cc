#include "core/sim/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;

TEST(RankGroups, IdenticalRanksAreOneGroupWhateverTheirNumber) {
  StepDescription step;
  step.ranks = 65'536;
  EXPECT_THAT(rank_groups(step), ElementsAre(RankClass{0, 65'536, 1}));
}

TEST(RankGroups, RanksOfOneScaleAreOneGroup) {
  StepDescription step;
  step.ranks = 5;
  step.rank_compute_scale = {1.5, 1, 1.5, 1, 2};
  const auto groups = rank_groups(step);
  EXPECT_THAT(groups, ElementsAre(RankClass{0, 2, 1.5}, RankClass{1, 2, 1}, RankClass{4, 1, 2}));
  EXPECT_EQ(group_of(step, groups, 3), 1u);
  EXPECT_EQ(group_of(step, groups, 4), 2u);
}

TEST(RankGroups, JitterMakesEveryRankItsOwn) {
  StepDescription step;
  step.ranks = 3;
  step.jitter.kind = JitterKind::normal;
  const auto groups = rank_groups(step);
  EXPECT_EQ(groups.size(), 3u);
  EXPECT_EQ(group_of(step, groups, 2), 2u);
}

}  // namespace
}  // namespace hocket
