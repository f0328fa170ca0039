#include "profiler/cupti/step_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket {
namespace {

using testing::ElementsAre;

/// Returns the steps from `from` to `to` at which it begins or ends.
std::vector<std::int64_t> switches(StepSwitch& span, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> at;
  for (std::int64_t step = from; step <= to; ++step) {
    const StepAction action = span.on_step(step);
    if (action != StepAction::none) at.push_back(step);
    EXPECT_TRUE(action != StepAction::begin || span.is_recording());
    EXPECT_TRUE(action != StepAction::end || span.is_over());
  }
  return at;
}

TEST(StepSwitch, RecordsFromTheStepBeforeUntilTheStepBehindHasRun) {
  StepSwitch span(10, 5);
  EXPECT_THAT(switches(span, 0, 30), ElementsAre(9, 17));
}

TEST(StepSwitch, BeginsAtTheFirstStepWhenThereIsNoneBefore) {
  StepSwitch span(0, 3);
  EXPECT_THAT(switches(span, 0, 30), ElementsAre(0, 5));
}

TEST(StepSwitch, BeginsLateWhenAskedLate) {
  StepSwitch span(10, 5);
  EXPECT_THAT(switches(span, 12, 30), ElementsAre(12, 17));
}

TEST(StepSwitch, IsOverAtOnceWhenAllHasPassed) {
  StepSwitch span(10, 5);
  EXPECT_EQ(span.on_step(40), StepAction::end);
  EXPECT_EQ(span.on_step(41), StepAction::none);
}

TEST(StepSwitch, EndsWhenStepsCountFromAnew) {
  StepSwitch span(10, 5);
  span.on_step(10);
  EXPECT_EQ(span.on_step(10), StepAction::end);
  EXPECT_EQ(span.on_step(11), StepAction::none);
}

TEST(StepSwitch, WaitsThroughStepsThatCountFromAnew) {
  StepSwitch span(10, 5);
  EXPECT_EQ(span.on_step(5), StepAction::none);
  EXPECT_EQ(span.on_step(0), StepAction::none);
  EXPECT_THAT(switches(span, 1, 30), ElementsAre(9, 17));
}

TEST(StepSwitch, EndsOnceWhateverComes) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepSwitch span(static_cast<std::int64_t>(random() % 20),
                    1 + static_cast<std::int64_t>(random() % 5));
    int begins = 0, ends = 0;
    for (int i = 0; i < 60; ++i) {
      const StepAction action =
          random() % 50 == 0 ? span.stop() : span.on_step(static_cast<std::int64_t>(random() % 30));
      begins += action == StepAction::begin;
      ends += action == StepAction::end;
      ASSERT_TRUE(action != StepAction::begin || ends == 0);
    }
    ends += span.stop() == StepAction::end;
    EXPECT_LE(begins, 1);
    EXPECT_EQ(ends, 1);
  }
}

}  // namespace
}  // namespace hocket
