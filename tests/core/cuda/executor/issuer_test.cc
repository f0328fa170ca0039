// Tests steps that are issued as a whole. The executor's tests cover issue task by task.

#include "core/cuda/executor/issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "core/tape/tape.h"
#include "core/trace/task_marker.h"
#include "tests/core/cuda/model_rank.h"
#include "tests/core/cuda/random_program.h"

namespace hocket {
namespace {

using testing::IsEmpty;

class IssuerTest : public testing::Test {
 protected:
  SteadyClock clock_;
};

/// Runs two steps of a program as a whole, the second by its captured graph; otherwise like
/// forget_a_wait().
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
  bool ok = scheduler.launch(captured).has_value();
  device.release();
  ok = ok && scheduler.launch(captured).has_value();
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

/// A captured step that runs a program twice and counts its executions, on a single rank.
class CountedStep {
 public:
  CountedStep(const Clock& clock, const ScheduleConfig& config)
      : sole_(clock), scheduler_(std::in_place, config, sole_.rank.executor) {
    program_.add_data(*scheduler_, sole_.rank.memory);
    counted_ = scheduler_->add_data();
    scheduler_->begin_capture();
    submit();
    captured_ = scheduler_->end_capture();
  }

  void launch(int steps) {
    for (int step = 0; step < steps; ++step) expect_ok(scheduler_->launch(captured_));
    expect_ok(scheduler_->synchronize());
  }
  /// Submits the step again; with `is_other` a different step, which counts once more in the
  /// middle.
  void run(bool is_other = false) {
    submit(is_other);
    expect_ok(scheduler_->end_step());
  }
  void reconfigure(const ScheduleConfig& config) { expect_ok(scheduler_->reconfigure(config)); }
  /// Returns the number of launches on the device by one captured step.
  std::int64_t launched_by_step() {
    const std::int64_t before = device().launched();
    launch(1);
    return device().launched() - before;
  }

  /// Expects exactly `steps` steps to have run.
  void expect_done(int steps) {
    expect_ok(scheduler_->synchronize());
    scheduler_.reset();
    EXPECT_EQ(values_, program_.expected(2 * steps, 1).front());
    EXPECT_THAT(device().problems(), IsEmpty());
  }
  ModelDevice& device() { return sole_.rank.device; }
  int bodies() {
    expect_ok(scheduler_->synchronize());
    return bodies_;
  }

 private:
  static void expect_ok(const Result<void>& result) {
    EXPECT_TRUE(result) << result.error().message;
  }
  void submit(bool is_other = false) {
    program_.submit(*scheduler_, values_, device());
    if (is_other) count();
    program_.submit(*scheduler_, values_, device());
    count();
  }
  void count() {
    scheduler_->compute({.name = "count"}, {update(counted_)}, [this] { ++bodies_; });
  }

  SoleModelRank sole_;
  const RandomProgram program_{3};
  RandomProgram::Values values_ = program_.start(0);
  int bodies_ = 0;
  std::optional<Scheduler> scheduler_;
  DataId counted_;
  std::shared_ptr<Scheduler::Capture> captured_;
};

TEST_F(IssuerTest, LaunchesACapturedStepByItsGraph) {
  ScheduleConfig config{.step_issue = StepIssue::graph};
  CountedStep step(clock_, config);
  step.launch(5);
  EXPECT_EQ(step.device().graph_launches(), 4);
  EXPECT_EQ(step.bodies(), 2);
  // A step submitted task by task comes in between; the graph stays valid for the captured step.
  step.run();
  EXPECT_EQ(step.bodies(), 3);
  // After a different cut the step is captured again.
  config.partition_bytes = 4096;
  step.reconfigure(config);
  step.launch(4);
  EXPECT_EQ(step.device().graph_launches(), 4 + 3);
  EXPECT_EQ(step.device().graphs_alive(), 1);
  step.expect_done(10);
}

// The first partitioned step is learned and therefore issued task by task.
TEST_F(IssuerTest, LaunchesNoGraphOfTheFormThatStepsHadBefore) {
  const ScheduleConfig plain{.step_issue = StepIssue::graph};
  ScheduleConfig partitioned = plain;
  partitioned.bucket_bytes = 16384;
  CountedStep step(clock_, plain);
  step.launch(3);
  EXPECT_EQ(step.device().graph_launches(), 2);
  step.reconfigure(partitioned);
  step.launch(4);
  EXPECT_EQ(step.device().graph_launches(), 2 + 2);
  step.reconfigure(plain);
  step.launch(3);
  EXPECT_EQ(step.device().graph_launches(), 4 + 2);
  EXPECT_EQ(step.device().graphs_alive(), 1);
  step.expect_done(10);
}

// The first step is learned and therefore issued task by task.
TEST_F(IssuerTest, LaunchesAPartitionedStepByItsGraph) {
  ScheduleConfig config{.partition_bytes = 8192,
                        .streams = 3,
                        .comm_channels = 2,
                        .bucket_bytes = 16384,
                        .primitive = CollectivePrimitive::reduce_scatter_all_gather,
                        .step_issue = StepIssue::graph};
  CountedStep step(clock_, config);
  step.launch(5);
  EXPECT_EQ(step.device().graph_launches(), 3);
  EXPECT_EQ(step.bodies(), 3);
  const std::int64_t launched = step.launched_by_step();
  // After a different partition the step is captured again without learning it again.
  config.partition_bytes = 4096;
  step.reconfigure(config);
  step.launch(3);
  EXPECT_EQ(step.device().graph_launches(), 4 + 2);
  EXPECT_EQ(step.bodies(), 3 + 2);
  EXPECT_GT(step.launched_by_step(), launched);
  // A different step is learned; the captured step then differs from it, until it is learned in
  // turn.
  for (int other = 0; other < 2; ++other) step.run(true);
  EXPECT_EQ(step.bodies(), 5 + 4);
  step.launch(5);
  EXPECT_EQ(step.device().graph_launches(), 7 + 2);
  EXPECT_EQ(step.device().graphs_alive(), 1);
  step.expect_done(17);
}

/// Replays steps of one kernel and one sum.
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
    for (int step = 0; step < kSteps; ++step) EXPECT_TRUE(scheduler.launch(captured));
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
    // The interval covers the kernel and the sum.
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
