#include "profiler/cupti/task_correlation.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket {
namespace {

constexpr std::int64_t kReach = std::int64_t{1} << kMarkedStepBits;

TEST(TaskCorrelation, FindsEachTaskAgain) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto first_step = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 50));
    const auto generation = static_cast<std::uint32_t>(random());
    std::vector<NumberedTask> tasks;
    for (std::int64_t i = 0; i < 200; ++i) {
      // A later generation reuses a slot, in the same step or another.
      tasks.push_back(
          {{static_cast<std::uint32_t>(random() % 20), generation + static_cast<std::uint32_t>(i)},
           first_step + static_cast<std::int64_t>(random() % 5),
           i});
    }
    const TaskNumbers numbers(tasks);
    for (const NumberedTask& task : tasks) {
      EXPECT_EQ(numbers.of(pack_task(task.step, task.id), first_step),
                (MarkedTask{task.step, task.task}));
    }
  }
}

TEST(TaskCorrelation, KnowsTheStepOfATaskThatHasNoNumber) {
  const TaskNumbers none;
  for (const std::int64_t first_step : {std::int64_t{0}, std::int64_t{5}, kReach - 1, 7 * kReach}) {
    for (const std::int64_t ahead : {-kMarkedStepsBefore, std::int64_t{-1}, std::int64_t{0},
                                     kReach - kMarkedStepsBefore - 1}) {
      const std::int64_t step = first_step + ahead;
      if (step < 0) continue;
      EXPECT_EQ(none.of(pack_task(step, {3, 4}), first_step), (MarkedTask{step, kNoTask}));
      EXPECT_EQ(none.of(pack_task(step, kWholeStep), first_step), (MarkedTask{step, kNoTask}));
    }
  }
}

TEST(TaskCorrelation, HasNoStepBelowZero) {
  EXPECT_EQ(step_of_mark(pack_task(kReach - 1, {0, 0}), 0), kNoStep);
}

TEST(TaskCorrelation, TakesASlotThatDoesNotFitForTheWholeStep) {
  const TaskId large{std::uint32_t{1} << kMarkedSlotBits, 1};
  EXPECT_EQ(pack_task(9, large), pack_task(9, kWholeStep));
  const TaskId largest{(std::uint32_t{1} << kMarkedSlotBits) - 2, 1};
  EXPECT_NE(pack_task(9, largest), pack_task(9, kWholeStep));
}

}  // namespace
}  // namespace hocket
