// Steps that are issued as a whole. What it issues task by task is tested with the executor.

#include "core/cuda/issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/scheduler.h"
#include "core/tape.h"
#include "core/task_marker.h"
#include "tests/core/cuda/model_rank.h"
#include "tests/core/cuda/random_program.h"

namespace hocket {
namespace {

using testing::IsEmpty;

class IssuerTest : public testing::Test {
 protected:
  SteadyClock clock_;
};

/// Two steps of a program as a whole, the second captured; as forget_a_wait() otherwise.
bool forget_a_wait_of_a_graph(std::uint64_t seed, std::int64_t wait, bool& is_found) {
  const SteadyClock clock;
  SoleModelRank sole(clock);
  ModelDevice& device = sole.rank.device;
  const RandomProgram program(seed);
  auto values = program.start(0);
  device.forget_wait(wait);
  ScheduleConfig config{.step_issue = StepIssue::graph};
  config.streams = 3;
  config.comm_channels = 2;
  Scheduler scheduler(config, sole.rank.executor);
  program.add_data(scheduler, sole.rank.memory);
  scheduler.begin_capture();
  program.submit(scheduler, values, device);
  const auto captured = scheduler.end_capture();
  device.hold();
  bool ok = scheduler.replay(captured).has_value();
  device.release();
  ok = ok && scheduler.replay(captured).has_value();
  ok = scheduler.synchronize().has_value() && ok;
  is_found = !ok || !device.problems().empty();
  return device.waits() > wait;
}

TEST_F(IssuerTest, EveryWaitOfAGraphIsMissed) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    bool is_found = false;
    std::int64_t wait = 0, missed = 0;
    for (; forget_a_wait_of_a_graph(seed, wait, is_found); ++wait) missed += is_found ? 1 : 0;
    EXPECT_FALSE(is_found) << "seed " << seed;
    // At the join a wait may be implied by another one.
    EXPECT_GT(missed, wait * 3 / 4) << "seed " << seed;
  }
}

TEST_F(IssuerTest, LaunchesACapturedStepByItsGraph) {
  SoleModelRank sole(clock_);
  ModelDevice& device = sole.rank.device;
  const RandomProgram program(3);
  auto values = program.start(0);
  ScheduleConfig config{.step_issue = StepIssue::graph};
  int bodies = 0;
  {
    Scheduler scheduler(config, sole.rank.executor);
    program.add_data(scheduler, sole.rank.memory);
    const DataId counted = scheduler.add_data();
    const auto submit = [&] {
      program.submit(scheduler, values, device);
      scheduler.compute({.name = "count"}, {update(counted)}, [&bodies] { ++bodies; });
    };
    scheduler.begin_capture();
    submit();
    const auto captured = scheduler.end_capture();
    for (int step = 0; step < 5; ++step) EXPECT_TRUE(scheduler.replay(captured));
    EXPECT_TRUE(scheduler.synchronize());
    EXPECT_EQ(device.graph_launches(), 4);
    EXPECT_EQ(bodies, 2);
    // Steps in another way come between; the graph is still that of the step.
    submit();
    EXPECT_TRUE(scheduler.end_step());
    EXPECT_TRUE(scheduler.synchronize());
    EXPECT_EQ(bodies, 3);
    // Cut anew, it is captured anew.
    config.partition_bytes = 4096;
    EXPECT_TRUE(scheduler.reconfigure(config));
    for (int step = 0; step < 4; ++step) EXPECT_TRUE(scheduler.replay(captured));
    EXPECT_TRUE(scheduler.synchronize());
    EXPECT_EQ(device.graph_launches(), 4 + 3);
    EXPECT_EQ(device.graphs_alive(), 1);
  }
  EXPECT_EQ(values, program.expected(10, 1).front());
  EXPECT_THAT(device.problems(), IsEmpty());
}

// The first step is learned, and so goes task by task.
TEST_F(IssuerTest, LaunchesAPartitionedStepByItsGraph) {
  SoleModelRank sole(clock_);
  ModelDevice& device = sole.rank.device;
  const RandomProgram program(3);
  auto values = program.start(0);
  ScheduleConfig config{.partition_bytes = 8192,
                        .bucket_bytes = 16384,
                        .primitive = CollectivePrimitive::reduce_scatter_all_gather,
                        .step_issue = StepIssue::graph};
  int bodies = 0;
  {
    Scheduler scheduler(config, sole.rank.executor);
    program.add_data(scheduler, sole.rank.memory);
    const DataId counted = scheduler.add_data();
    const auto submit = [&] {
      program.submit(scheduler, values, device);
      scheduler.compute({.name = "count"}, {update(counted)}, [&bodies] { ++bodies; });
    };
    scheduler.begin_capture();
    submit();
    const auto captured = scheduler.end_capture();
    const auto replay = [&](int steps) {
      for (int step = 0; step < steps; ++step) EXPECT_TRUE(scheduler.replay(captured));
      EXPECT_TRUE(scheduler.synchronize());
    };
    replay(5);
    EXPECT_EQ(device.graph_launches(), 3);
    EXPECT_EQ(bodies, 3);
    const auto launched_by_step = [&] {
      const std::int64_t before = device.launched();
      replay(1);
      return device.launched() - before;
    };
    const std::int64_t launched = launched_by_step();
    // Partitioned anew, it is captured anew, and need not be learned again.
    config.partition_bytes = 4096;
    EXPECT_TRUE(scheduler.reconfigure(config));
    replay(3);
    EXPECT_EQ(device.graph_launches(), 4 + 2);
    EXPECT_EQ(bodies, 3 + 2);
    EXPECT_GT(launched_by_step(), launched);
    // Another step is learned.
    for (int step = 0; step < 2; ++step) {
      scheduler.compute({.name = "more"}, {update(counted)}, [&bodies] { ++bodies; });
      submit();
      EXPECT_TRUE(scheduler.end_step());
    }
    EXPECT_TRUE(scheduler.synchronize());
    EXPECT_EQ(bodies, 5 + 4);
    // The captured one is another one now, then learned.
    replay(5);
    EXPECT_EQ(device.graph_launches(), 7 + 2);
    EXPECT_EQ(device.graphs_alive(), 1);
  }
  EXPECT_EQ(values, program.expected(17, 1).front());
  EXPECT_THAT(device.problems(), IsEmpty());
}

/// Steps of one kernel and one sum, replayed.
struct ReplayedSteps {
  static constexpr int kSteps = 5;

  ReplayedSteps(SoleModelRank& sole, const ScheduleConfig& config, SchedulerOptions options) {
    ModelDevice& device = sole.rank.device;
    std::vector<float> values(64);
    Scheduler scheduler(config, sole.rank.executor, std::move(options));
    const DataId data = scheduler.add_data();
    scheduler.begin_capture();
    scheduler.compute({.name = "backward"}, {update(data)}, [&] {
      ++bodies;
      device.launch(this_device_task().stream, {writes(values)}, [&] { ++kernels; });
    });
    scheduler.all_reduce({.name = "gradient"}, data, values);
    const auto captured = scheduler.end_capture();
    for (int step = 0; step < kSteps; ++step) EXPECT_TRUE(scheduler.replay(captured));
    EXPECT_TRUE(scheduler.synchronize());
    EXPECT_EQ(kernels, kSteps);
  }

  int bodies = 0, kernels = 0;
};

class KeptTrace final : public TraceSink {
 public:
  void record(const TraceEvent& event) override { events.push_back(event); }
  std::vector<TraceEvent> events;
};

TEST_F(IssuerTest, TracesAWholeStepAsOneTask) {
  SoleModelRank sole(clock_);
  KeptTrace trace;
  const std::int64_t before_ns = clock_.now_ns();
  const ReplayedSteps steps(sole, {.streams = 2, .step_issue = StepIssue::graph},
                            {.trace = &trace});
  EXPECT_EQ(steps.bodies, 2);
  ASSERT_EQ(trace.events.size(), std::size_t{ReplayedSteps::kSteps});
  std::int64_t end_ns = before_ns;
  for (std::size_t step = 0; step < trace.events.size(); ++step) {
    const TraceEvent& event = trace.events[step];
    EXPECT_EQ(event.kind, TraceKind::compute);
    EXPECT_EQ(event.name, "step");
    EXPECT_EQ(event.task, kWholeStep);
    EXPECT_EQ(event.step, static_cast<std::int64_t>(step));
    EXPECT_GT(event.begin_ns, end_ns) << "a step begins when the one before has ended";
    // The kernel and the sum are in it.
    EXPECT_GE(event.end_ns - event.begin_ns, 2 * ModelDevice::kTurnNs);
    end_ns = event.end_ns;
  }
}

TEST_F(IssuerTest, AnObservedStepGoesTaskByTask) {
  TapeWriter tape({}, clock_, [](std::string_view) {});
  SoleModelRank sole(clock_);
  KeptTrace trace;
  const ReplayedSteps steps(sole, {.step_issue = StepIssue::graph},
                            {.trace = &trace, .observer = &tape});
  EXPECT_EQ(steps.bodies, ReplayedSteps::kSteps);
  EXPECT_EQ(trace.events.size(), std::size_t{2} * ReplayedSteps::kSteps);
  EXPECT_EQ(sole.rank.device.graph_launches(), 0);
}

TEST_F(IssuerTest, StepsAreGraphsOnlyWhereTheConfigurationSaysSo) {
  SoleModelRank sole(clock_);
  EXPECT_EQ(ReplayedSteps(sole, {}, {}).bodies, ReplayedSteps::kSteps);
  EXPECT_EQ(sole.rank.device.graph_launches(), 0);
}

}  // namespace
}  // namespace hocket
