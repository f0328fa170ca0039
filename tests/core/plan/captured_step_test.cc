#include "core/plan/captured_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CapturedStep::Task task(std::vector<Access> accesses, bool is_collective = false) {
  return {.name = "",
          .priority = 0,
          .is_collective = is_collective,
          .bytes = 0,
          .accesses = std::move(accesses)};
}

TEST(CapturedStep, HasTheEdgesWithinALaunchAndToTheNext) {
  const DataId weights{0}, activation{1};
  const CapturedStep step({task({read(weights), update(activation)}),
                           task({update(activation), write(weights)}),
                           task({update(weights)}, true)});
  EXPECT_EQ(step.collectives(), 1u);
  // Values from 3 on denote tasks of the next launch.
  EXPECT_THAT(step.successors(0), ElementsAre(1));
  EXPECT_THAT(step.successors(1), ElementsAre(2, 3));
  EXPECT_THAT(step.successors(2), ElementsAre(3));
  EXPECT_EQ(step.waits_within(0), 0u);
  EXPECT_EQ(step.waits_before(0), 2u);
  EXPECT_EQ(step.waits_within(2), 1u);
}

TEST(CapturedStep, ReadersAloneWaitForNobody) {
  const CapturedStep step({task({read(DataId{0})}), task({read(DataId{0})})});
  EXPECT_THAT(step.successors(0), IsEmpty());
  EXPECT_THAT(step.successors(1), IsEmpty());
}

TEST(CapturedStep, TwoCommonItemsMakeOneEdge) {
  const CapturedStep step(
      {task({update(DataId{0}), update(DataId{1})}), task({update(DataId{0}), update(DataId{1})})});
  EXPECT_THAT(step.successors(0), ElementsAre(1));
  EXPECT_EQ(step.waits_within(1), 1u);
}

}  // namespace
}  // namespace hocket
