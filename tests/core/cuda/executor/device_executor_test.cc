#include "core/cuda/executor/device_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/model_rank.h"
#include "tests/core/cuda/random_program.h"
#include "tests/core/one_part_source.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Yields to other threads until `condition()` holds.
void await(const auto& condition) {
  while (!condition()) std::this_thread::yield();
}

class HandClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  void sleep_until_ns(std::int64_t) const override {}

  std::atomic<std::int64_t> now = 1'000'000'000;
};

/// Returns a configuration for ranks on hosts of `ranks_per_host`.
ScheduleConfig random_device_config(std::mt19937_64& random, int ranks_per_host) {
  ScheduleConfig config;
  config.partition_bytes = std::int64_t{4096} << random() % 3;
  config.credit_bytes = std::int64_t{4096} << random() % 4;
  config.streams = 1 + static_cast<int>(random() % 4);
  config.comm_channels = 1 + static_cast<int>(random() % 3);
  config.order = random() % 2 == 0 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
  config.step_issue = static_cast<StepIssue>(random() % 2);
  if (random() % 2 == 0) return config;
  config.primitive = static_cast<CollectivePrimitive>(random() % 2);
  config.launch = static_cast<CollectiveLaunch>(random() % 2);
  if (random() % 2 == 0) config.bucket_bytes = std::int64_t{4096} << random() % 5;
  if (random() % 2 == 0) config.group_ranks = ranks_per_host;
  return config;
}

class DeviceExecutorTest : public testing::Test {
 protected:
  SteadyClock clock_;
};

/// Compares values; sums in groups are rounded, while sums over all ranks at once are exact.
void expect_values(const RandomProgram::Values& values, const RandomProgram::Values& expected,
                   bool sums_in_groups) {
  if (!sums_in_groups) {
    EXPECT_EQ(values, expected);
    return;
  }
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t data = 0; data < values.size(); ++data) {
    ASSERT_EQ(values[data].size(), expected[data].size());
    for (std::size_t i = 0; i < values[data].size(); ++i)
      ASSERT_NEAR(values[data][i], expected[data][i], 1e-4 * std::abs(expected[data][i]))
          << "data " << data << ", value " << i;
  }
}

/// Runs a random program on some ranks and compares the result with that without a device.
void run_random_program(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const RandomProgram program(seed);
  const int hosts = 1 + static_cast<int>(random() % 2);
  const int ranks_per_host = 1 + static_cast<int>(random() % 3), steps = 4;
  const int ranks = hosts * ranks_per_host;
  const bool captures = random() % 2 == 0, reconfigures = random() % 2 == 0;
  const ScheduleConfig config = random_device_config(random, ranks_per_host),
                       next = random_device_config(random, ranks_per_host);
  const bool sums_in_groups = config.group_ranks > 1 || next.group_ranks > 1;
  const auto expected = program.expected(steps, ranks);
  const SteadyClock clock;
  ModelGroup group(ranks);
  LocalGroup messages(ranks, 60'000'000'000, ranks_per_host);
  const auto run_rank = [&](int rank) {
    ModelRank own(group, messages, rank, seed * 7 + static_cast<std::uint64_t>(rank), clock);
    auto values = program.start(rank);
    {
      Scheduler scheduler(config, own.executor);
      program.add_data(scheduler, own.memory);
      std::shared_ptr<Scheduler::Capture> captured;
      if (captures) {
        scheduler.begin_capture();
        program.submit(scheduler, values, own.device);
        captured = scheduler.end_capture();
      }
      for (int step = 0; step < steps; ++step) {
        if (reconfigures && step == 2) {
          const auto ok = scheduler.reconfigure(next);
          EXPECT_TRUE(ok) << ok.error().message;
        }
        if (!captures) program.submit(scheduler, values, own.device);
        const auto ended = captures ? scheduler.launch(captured) : scheduler.end_step();
        EXPECT_TRUE(ended) << ended.error().message;
      }
      const auto ended = scheduler.synchronize();
      EXPECT_TRUE(ended) << ended.error().message;
    }
    expect_values(values, expected[static_cast<std::size_t>(rank)], sums_in_groups);
    EXPECT_THAT(own.device.problems(), IsEmpty());
    if (own.device.graph_launches() == 0 && config.step_issue == StepIssue::tasks) {
      EXPECT_EQ(own.device.idle_waits(), 0);
    }
    own.device.run_all();
    EXPECT_EQ(own.device.memory_in_use(), 0u);
    EXPECT_EQ(own.device.graphs_alive(), 0);
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run_rank, rank);
}

TEST_F(DeviceExecutorTest, RefusesACollectiveThatItCannotCarryOut) {
  std::vector<float> values(64);
  const auto refused = [&](CollectiveKind kind) {
    PartWork part;
    part.collective.kind = kind;
    part.name = "weights";
    part.step = 3;
    part.collective.values = values;
    SoleModelRank alone(clock_);
    const auto error = OnePartSource(part).run_on(alone.rank.executor);
    return error ? error->message : std::string();
  };
  EXPECT_EQ(refused(CollectiveKind::all_reduce), "");
  EXPECT_EQ(refused(CollectiveKind::all_gather), "");
  EXPECT_THAT(refused(CollectiveKind::push),
              AllOf(HasSubstr("push of \"weights\" in step 3"),
                    HasSubstr("expected all_reduce, reduce_scatter or all_gather")));
  EXPECT_THAT(refused(CollectiveKind::all_to_all),
              AllOf(HasSubstr("all-to-all of \"weights\" in step 3"),
                    HasSubstr("expected a count of values sent for each of 1 members")));
}

TEST_F(DeviceExecutorTest, RunsRandomProgramsAsIfOneTaskAfterAnother) {
#ifdef HOCKET_SANITIZED
  constexpr std::uint64_t kPrograms = 20;
#else
  constexpr std::uint64_t kPrograms = 60;
#endif
  for (std::uint64_t seed = 1; seed <= kPrograms && !HasFailure(); ++seed) run_random_program(seed);
}

/// Issues one step of a program while nothing runs, on a device that skips wait number `wait`;
/// returns whether there was such a wait.
bool forget_a_wait(std::uint64_t seed, std::int64_t wait, std::size_t& problems) {
  const SteadyClock clock;
  SoleModelRank sole(clock);
  ModelDevice& device = sole.rank.device;
  const RandomProgram program(seed);
  auto values = program.start(0);
  device.forget_wait(wait);
  device.hold();
  ScheduleConfig config;
  config.streams = 3;
  config.comm_channels = 2;
  // Each collective has a single part, so that the waits of parts follow from the data, not the
  // bytes.
  Scheduler scheduler(config, sole.rank.executor);
  program.add_data(scheduler, sole.rank.memory);
  program.submit(scheduler, values, device);
  EXPECT_TRUE(scheduler.end_step());
  device.release();
  EXPECT_TRUE(scheduler.synchronize());
  problems = device.problems().size();
  return device.waits() > wait;
}

TEST_F(DeviceExecutorTest, EveryWaitIsMissed) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::size_t problems = 0;
    std::int64_t wait = 0;
    for (; forget_a_wait(seed, wait, problems); ++wait)
      EXPECT_GT(problems, 0u) << "seed " << seed << ", wait " << wait;
    EXPECT_EQ(problems, 0u) << "seed " << seed;
    EXPECT_GT(wait, 5) << "seed " << seed << " has next to no waits";
  }
}

TEST_F(DeviceExecutorTest, AStaticOrderThatItsStepContradictsIsAnError) {
  for (const std::vector<std::uint32_t>& order : {std::vector{0u, 1u}, std::vector{1u, 0u}}) {
    SoleModelRank sole(clock_);
    Scheduler scheduler({.order = CollectiveOrder::static_order}, sole.rank.executor,
                        {.static_order = order});
    std::vector<float> values(16);
    const DataId first = scheduler.add_data(), second = scheduler.add_data();
    Result<void> ok;
    for (int step = 0; ok && step < 3; ++step) {
      scheduler.all_reduce({.name = "first"}, first, values);
      scheduler.compute({.name = "between"}, {read(first), write(second)}, [] {});
      scheduler.all_reduce({.name = "second"}, second, values);
      ok = scheduler.end_step();
    }
    if (ok) ok = scheduler.synchronize();
    EXPECT_EQ(ok.has_value(), order[0] == 0u);
    if (ok) continue;
    EXPECT_THAT(ok.error().message, HasSubstr("\"second\" is next"));
  }
}

TEST_F(DeviceExecutorTest, FreesWhatParallelTasksReadLast) {
  SoleModelRank sole(clock_);
  ModelDevice& device = sole.rank.device;
  {
    ScheduleConfig config;
    config.streams = 2;
    Scheduler scheduler(config, sole.rank.executor);
    std::vector<Access> made, used;
    for (int i = 0; i < 3; ++i) {
      const DataId data = scheduler.add_data();
      sole.rank.memory.add(data, 64, 3);
      made.push_back(write(data));
      used.push_back(read(data));
    }
    device.hold();
    scheduler.compute({.name = "make"}, made, [] {});
    for (int i = 0; i < 2; ++i) scheduler.compute({.name = "use"}, used, [] {});
    EXPECT_TRUE(scheduler.end_step());
    device.release();
    EXPECT_TRUE(scheduler.synchronize());
  }
  device.run_all();
  EXPECT_THAT(device.problems(), IsEmpty());
  EXPECT_EQ(device.memory_in_use(), 0u);
}

TEST_F(DeviceExecutorTest, IssuesWholeStepsWhileNothingHasRun) {
  SoleModelRank sole(clock_);
  ModelDevice& device = sole.rank.device;
  device.hold();
  std::vector<float> values(100);
  int ran = 0;
  {
    Scheduler scheduler({}, sole.rank.executor);
    const DataId data = scheduler.add_data();
    for (int step = 0; step < 2; ++step) {
      for (int i = 0; i < 2; ++i) {
        scheduler.compute({.name = "kernel"}, {update(data)}, [&] {
          device.launch(this_device_task().stream, {writes(values)}, [&] { ++ran; });
        });
        scheduler.all_reduce({.name = "sum"}, data, values);
      }
      if (step == 0) {
        EXPECT_TRUE(scheduler.end_step());
      }
    }
    // Each task is ordered behind all earlier ones, and nothing has run.
    await([&] { return device.launched() == 8; });
    EXPECT_EQ(ran, 0);
    device.release();
    EXPECT_TRUE(scheduler.end_step());
    EXPECT_TRUE(scheduler.synchronize());
  }
  EXPECT_EQ(ran, 4);
  EXPECT_THAT(device.problems(), IsEmpty());
}

TEST_F(DeviceExecutorTest, NegotiatesAmongCollectivesWhoseInputsAreComputed) {
  SoleModelRank sole(clock_);
  ModelDevice& device = sole.rank.device;
  std::vector<float> late(1024), early(1024);
  std::atomic<bool> may_begin = false, early_is_summed = false;
  ScheduleConfig config;
  config.order = CollectiveOrder::negotiated;
  config.streams = 2;
  // One part at a time: if the wrong collective starts, the other can never start.
  config.partition_bytes = config.credit_bytes = 4096;
  Scheduler scheduler(config, sole.rank.executor);
  const DataId late_data = scheduler.add_data(), early_data = scheduler.add_data();
  scheduler.compute({.name = "late"}, {write(late_data)}, [&] {
    device.launch(
        this_device_task().stream, {writes(late)}, [] {}, [&] { return may_begin.load(); });
  });
  scheduler.all_reduce({.name = "late", .priority = 0}, late_data, late);
  scheduler.compute({.name = "early"}, {write(early_data)},
                    [&] { device.launch(this_device_task().stream, {writes(early)}, [] {}); });
  scheduler.all_reduce({.name = "early", .priority = 1}, early_data, early);
  scheduler.compute({.name = "after"}, {read(early_data)}, [&] {
    device.launch(this_device_task().stream, {reads(early)}, [&] { early_is_summed = true; });
  });
  EXPECT_TRUE(scheduler.end_step());
  await([&] { return early_is_summed.load(); });
  may_begin = true;
  EXPECT_TRUE(scheduler.synchronize());
  EXPECT_THAT(device.problems(), IsEmpty());
}

TEST_F(DeviceExecutorTest, SaysWhichTaskThrew) {
  SoleModelRank sole(clock_);
  Scheduler scheduler({}, sole.rank.executor);
  scheduler.compute({.name = "gelu"}, {}, [] { throw std::runtime_error("no such kernel"); });
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("task \"gelu\" in step 0: it threw: no such kernel"));
}

TEST_F(DeviceExecutorTest, SaysWhoseLaunchFailed) {
  for (const StepIssue issue : {StepIssue::tasks, StepIssue::graph}) {
    // The second time a body of a graph runs, it is captured.
    for (const int fails_at : {1, 2}) {
      SoleModelRank sole(clock_);
      Scheduler scheduler({.step_issue = issue}, sole.rank.executor);
      int bodies = 0;
      scheduler.begin_capture();
      scheduler.compute({.name = "embed"}, {}, [] {});
      scheduler.compute({.name = "gelu"}, {}, [&] {
        if (++bodies == fails_at) ModelDevice::fail_launch("invalid configuration argument");
      });
      const auto captured = scheduler.end_capture();
      for (int step = 0; step < 3 && scheduler.launch(captured); ++step) {
      }
      const auto ok = scheduler.synchronize();
      ASSERT_FALSE(ok);
      EXPECT_THAT(ok.error().message,
                  AllOf(HasSubstr("task \"gelu\""),
                        HasSubstr("launching its work: invalid configuration argument")));
      EXPECT_THAT(ok.error().message, HasSubstr("in step " + std::to_string(fails_at - 1)));
    }
  }
}

TEST_F(DeviceExecutorTest, DoesNotBlameATaskForALaunchOutsideItsBody) {
  struct FailsAtItsEnd {
    void operator()() const { EXPECT_TRUE(is_own.get()); }
    std::unique_ptr<bool, void (*)(bool*)> is_own{new bool(true), [](bool* own) {
                                                    delete own;
                                                    ModelDevice::fail_launch("out of resources");
                                                  }};
  };
  std::vector<float> values(16);
  for (const bool part_follows : {false, true}) {
    SoleModelRank sole(clock_);
    Scheduler scheduler({}, sole.rank.executor);
    const DataId data = scheduler.add_data();
    scheduler.compute({.name = "first"}, {update(data)}, FailsAtItsEnd());
    if (part_follows) {
      scheduler.all_reduce({.name = "second"}, data, values);
    } else {
      scheduler.compute({.name = "second"}, {update(data)}, [] {});
    }
    const auto ok = scheduler.synchronize();
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message,
                AllOf(HasSubstr("pending before "), HasSubstr("\"second\" in step 0"),
                      HasSubstr("outside the bodies of tasks: out of resources")));
  }
}

TEST_F(DeviceExecutorTest, RefusesACollectiveOnMemoryThatMoves) {
  SoleModelRank sole(clock_);
  Scheduler scheduler({}, sole.rank.executor);
  const DataId data = scheduler.add_data();
  sole.rank.memory.add(data, 64, 1);
  std::vector<float> values(16);
  scheduler.all_reduce({.name = "gradient"}, data, values);
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(ok.error().message, HasSubstr("\"gradient\""));
}

TEST_F(DeviceExecutorTest, EveryFailureOfTheDriverReachesTheSubmitter) {
  const RandomProgram program(5);
  for (const StepIssue issue : {StepIssue::tasks, StepIssue::graph}) {
    bool has_succeeded = false;
    for (std::int64_t call = 0; !has_succeeded; call += 1 + call / 8) {
      SoleModelRank sole(clock_);
      sole.rank.device.fail_at(call);
      auto values = program.start(0);
      Scheduler scheduler({.step_issue = issue}, sole.rank.executor);
      program.add_data(scheduler, sole.rank.memory);
      scheduler.begin_capture();
      program.submit(scheduler, values, sole.rank.device);
      const auto captured = scheduler.end_capture();
      // The error appears in this step or a later one.
      for (int step = 0; step < 3 && scheduler.launch(captured); ++step) {
      }
      const auto ok = scheduler.synchronize();
      has_succeeded = ok.has_value();
      if (!ok) {
        EXPECT_THAT(ok.error().message, HasSubstr("the model device has failed"));
      }
    }
  }
}

TEST_F(DeviceExecutorTest, ARankThatIsGoneEndsTheJob) {
  SoleModelRank sole(clock_);
  sole.rank.device.hold();
  std::vector<float> values(16);
  {
    Scheduler scheduler({}, sole.rank.executor);
    const DataId data = scheduler.add_data();
    scheduler.all_reduce({.name = "gradient"}, data, values);
    await([&] { return sole.rank.device.launched() == 1; });
    sole.rank.collective.is_ill = true;
    const auto ok = scheduler.synchronize();
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("another rank is gone"));
  }
  EXPECT_TRUE(sole.group.is_aborted());
}

/// A step of one sum that is launched as a graph; the test then makes it fail or aborts it.
class SumInAGraph {
 public:
  explicit SumInAGraph(const Clock& clock) : sole_(clock) {
    data_ = scheduler_.add_data();
    scheduler_.begin_capture();
    scheduler_.all_reduce({.name = "gradient"}, data_, values_);
    captured_ = scheduler_.end_capture();
    for (int step = 0; step < 4; ++step) EXPECT_TRUE(scheduler_.launch(captured_));
    EXPECT_TRUE(scheduler_.synchronize());
    EXPECT_EQ(sole_.rank.device.graphs_alive(), 1);
  }

  ModelRank& rank() { return sole_.rank; }
  Scheduler& scheduler() { return scheduler_; }
  const std::shared_ptr<Scheduler::Capture>& captured() const { return captured_; }
  void expect_aborted() const {
    EXPECT_TRUE(sole_.group.is_aborted());
    EXPECT_EQ(sole_.rank.device.graphs_alive(), 0);
  }

 private:
  SoleModelRank sole_;
  std::vector<float> values_ = std::vector<float>(16);
  Scheduler scheduler_{{.step_issue = StepIssue::graph}, sole_.rank.executor};
  DataId data_;
  std::shared_ptr<Scheduler::Capture> captured_;
};

TEST_F(DeviceExecutorTest, ARankThatIsGoneEndsAGraphThatRuns) {
  SumInAGraph step(clock_);
  step.rank().device.hold();
  step.rank().collective.is_ill = true;
  static_cast<void>(step.scheduler().launch(step.captured()));
  const auto ok = step.scheduler().synchronize();
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("another rank is gone"));
  step.rank().executor.stop(true);
  step.expect_aborted();
}

// Repeated, because the executor's thread may not be waiting for work yet.
TEST_F(DeviceExecutorTest, AnAbortEndsAGraphThatDoesNotRun) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    SumInAGraph step(clock_);
    step.rank().executor.stop(true);
    step.expect_aborted();
  }
}

TEST_F(DeviceExecutorTest, ADeviceThatRunsNothingForTheLimitEndsTheJob) {
  HandClock clock;
  SoleModelRank sole(clock, 5'000'000);
  ModelDevice& device = sole.rank.device;
  device.hold();
  Scheduler scheduler({}, sole.rank.executor);
  scheduler.compute({.name = "kernel"}, {},
                    [&] { device.launch(this_device_task().stream, {}, [] {}); });
  EXPECT_TRUE(scheduler.end_step());
  await([&] { return device.questions() > 10; });
  clock.now += 5'000'000;
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::timed_out);
  EXPECT_THAT(ok.error().message, HasSubstr("has run nothing for 5 ms"));
}

}  // namespace
}  // namespace hocket
