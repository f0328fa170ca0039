#include "job/training/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/tape/tape.h"
#include "tests/core/host/ranks.h"
#include "tests/job/toy_model.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TrainingPhase graph_phase() {
  return {.config = {.step_issue = StepIssue::graph}};
}

std::string why_not(const TrainingPhase& phase, bool on_device = true, int ranks = 2) {
  return why_task_by_task(phase, on_device, ranks).value_or("as graphs");
}

TEST(Training, StepsAreGraphsWhereTheyAreAskedForOnADevice) {
  EXPECT_FALSE(why_task_by_task({}, false, 2));
  EXPECT_FALSE(why_task_by_task({}, true, 2));
  EXPECT_EQ(why_not(graph_phase()), "as graphs");
  EXPECT_THAT(why_not(graph_phase(), false), HasSubstr("--device cuda"));
}

TEST(Training, SaysWhyStepsGoTaskByTask) {
  TrainingPhase phase = graph_phase();
  const LivePhase live;
  phase.live = &live;
  EXPECT_THAT(why_not(phase), HasSubstr("submits each step anew"));

  phase = graph_phase();
  const SteadyClock clock;
  TapeWriter tape({}, clock, [](std::string_view) {});
  phase.options.observer = &tape;
  EXPECT_THAT(why_not(phase), HasSubstr("a profile is of tasks"));

  phase = graph_phase();
  phase.config.compute_order = ComputeOrder::critical_path;
  EXPECT_EQ(why_not(phase), "as graphs");
}

TEST(Training, AnOrderThatRanksNegotiateIsOfTasks) {
  TrainingPhase phase = graph_phase();
  phase.config.order = CollectiveOrder::negotiated;
  EXPECT_THAT(why_not(phase), HasSubstr("order=fifo"));
  EXPECT_EQ(why_not(phase, true, 1), "as graphs");
  phase.config.order = CollectiveOrder::static_order;
  EXPECT_THAT(why_not(phase), HasSubstr("negotiated"));
  phase.options.static_order = std::vector<std::uint32_t>{0, 1};
  EXPECT_EQ(why_not(phase), "as graphs");
}

TEST(Training, DrawsEveryStepAndRunsItOnTheExecutorOfTheJob) {
  run_local_ranks(1, [](int, Collective& collective) {
    ToyModel model;
    const SteadyClock clock;
    int executors = 0;
    Training training{.model = model, .collective = collective, .clock = clock};
    training.make_executor = [&]() -> std::unique_ptr<Executor> {
      ++executors;
      return std::make_unique<HostExecutor>(collective, clock);
    };
    ASSERT_TRUE(run_phase(training, {.config = {}, .end_step = 3}));
    EXPECT_EQ(model.last_drawn(), 2);
    EXPECT_EQ(executors, 1);
    EXPECT_EQ(model.weight(), 3.0f);
  });
}

TEST(Training, ATapeThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  run_local_ranks(1, [&](int, Collective& collective) {
    ToyModel model;
    const SteadyClock clock;
    const Training training{.model = model, .collective = collective, .clock = clock};
    for (const auto& [path, why] :
         {std::pair{folder.file("nowhere/run.tape"), "No such file or directory"},
          std::pair{std::string("/dev/full"), "it is a device"}}) {
      const auto ran = run_recorded_phase(training, {.config = {}, .end_step = 2}, "toy", path);
      ASSERT_FALSE(ran) << path;
      EXPECT_THAT(ran.error().message, HasSubstr("the tape: cannot write " + path + ": " + why));
    }
  });
}

}  // namespace
}  // namespace hocket
