#include "profiler/metrics/iteration_windows.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Windows, AStepHasOneWhenTheNextStepsStartIsKnown) {
  const std::vector<StepStart> starts{{3, 100}, {4, 150}, {5, 150}, {6, 180}, {9, 300}, {10, 310}};
  EXPECT_EQ(windows_of(starts, 0),
            (std::vector<StepWindow>{{3, {100, 150}}, {5, {150, 180}}, {9, {300, 310}}}));
  EXPECT_EQ(windows_of(starts, 4), (std::vector<StepWindow>{{5, {150, 180}}, {9, {300, 310}}}));
  EXPECT_TRUE(windows_of(starts, 10).empty()) << "nothing marks the end of the last step";
  EXPECT_TRUE(windows_of({}, 0).empty());
}

TEST(Windows, TimesThatRunBackwardsHaveNone) {
  // Step 0 starts twice and again after step 1; step 2 begins inside step 0's window.
  const std::vector<StepStart> starts{{0, 500}, {1, 400}, {0, 100}, {2, 300}, {3, 900}, {4, 950}};
  EXPECT_EQ(windows_of(starts, 0), (std::vector<StepWindow>{{0, {100, 400}}, {3, {900, 950}}}));
  EXPECT_TRUE(windows_of(std::vector<StepStart>{{0, -5}, {1, 5}}, 0).empty());
}

TEST(Windows, TheirTimeIsTheirUnion) {
  const std::vector<StepStart> starts{{0, 10}, {1, 20}, {2, 40}, {5, 50}, {6, 60}};
  EXPECT_EQ(time_of(windows_of(starts, 0)), (std::vector<Interval>{{10, 40}, {50, 60}}));
}

}  // namespace
}  // namespace hocket
