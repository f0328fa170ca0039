// Tests what a DeviceExecutor tells a TraceSink.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/cuda/executor/device_executor.h"
#include "core/scheduler/scheduler.h"
#include "core/trace/task_marker.h"
#include "tests/core/cuda/model_rank.h"

namespace hocket {
namespace {

using testing::IsEmpty;

class KeptTimes : public TraceSink {
 public:
  void record(const TraceEvent& event) override { events.push_back(event); }

  std::vector<TraceEvent> events;
};

TEST(DeviceTrace, TracesWhatRanWhenTheDeviceRanIt) {
  KeptTimes sink;
  const SteadyClock clock;
  SoleModelRank sole(clock);
  ModelDevice& device = sole.rank.device;
  std::vector<float> values(1024 * 3);
  const std::int64_t before_ns = clock.now_ns();
  {
    ScheduleConfig config;
    config.partition_bytes = 4096;
    config.comm_channels = 2;
    Scheduler scheduler(config, sole.rank.executor,
                        {.trace = &sink, .observer = nullptr, .static_order = {}});
    const DataId data = scheduler.add_data();
    for (int step = 0; step < 3; ++step) {
      scheduler.compute({.name = "backward"}, {update(data)},
                        [&] { device.launch(this_device_task().stream, {writes(values)}, {}); });
      scheduler.all_reduce({.name = "gradient"}, data, values);
      EXPECT_TRUE(scheduler.end_step());
    }
    EXPECT_TRUE(scheduler.synchronize());
  }
  ASSERT_EQ(sink.events.size(), 3u * 4);
  std::ranges::sort(sink.events, {}, [](const TraceEvent& event) {
    return std::tuple(event.step, event.kind, event.sequence);
  });
  std::int64_t sequence = 0;
  for (std::size_t i = 0; i < sink.events.size(); ++i) {
    const TraceEvent& event = sink.events[i];
    EXPECT_EQ(event.step, static_cast<std::int64_t>(i / 4));
    EXPECT_GT(event.begin_ns, before_ns);
    // The kernel runs between its two events.
    EXPECT_GE(event.end_ns - event.begin_ns, 2 * ModelDevice::kTurnNs);
    if (i % 4 == 0) {
      EXPECT_EQ(event.name, "backward");
      continue;
    }
    EXPECT_EQ(event.name, "gradient");
    EXPECT_EQ(event.bytes, 4096);
    // Parts are given to channels in turn, in each step anew.
    EXPECT_EQ(event.lane, sequence % 3 % 2);
    EXPECT_EQ(event.sequence, sequence++);
    EXPECT_GT(event.begin_ns, sink.events[i / 4 * 4].end_ns);
    if (i / 4 < 2) {
      EXPECT_LT(event.end_ns, sink.events[i / 4 * 4 + 4].begin_ns);
    }
  }
}

/// Wants `detail` of steps [from, end) alone.
class SomeSteps final : public KeptTimes {
 public:
  SomeSteps(std::int64_t from, std::int64_t end, TraceDetail detail = TraceDetail::tasks)
      : from_(from), end_(end), detail_(detail) {}
  TraceDetail detail(std::int64_t step) const override {
    return step >= from_ && step < end_ ? detail_ : TraceDetail::steps;
  }

 private:
  const std::int64_t from_, end_;
  const TraceDetail detail_;
};

/// Runs six steps of three kernels and a sum each.
void run_six_steps(SoleModelRank& sole, TraceSink& trace) {
  ModelDevice& device = sole.rank.device;
  std::vector<float> values(64);
  Scheduler scheduler({.streams = 2}, sole.rank.executor, {.trace = &trace});
  const DataId data = scheduler.add_data();
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < 3; ++i) {
      scheduler.compute({.name = "backward"}, {update(data)},
                        [&] { device.launch(this_device_task().stream, {writes(values)}, {}); });
    }
    scheduler.all_reduce({.name = "gradient"}, data, values);
    EXPECT_TRUE(scheduler.end_step());
  }
  EXPECT_TRUE(scheduler.synchronize());
}

TEST(DeviceTrace, TimesOnlyTheTasksThatAreWanted) {
  const SteadyClock clock;
  SoleModelRank sole(clock);
  SomeSteps trace(2, 4);
  run_six_steps(sole, trace);
  std::map<std::int64_t, std::vector<TraceEvent>> of_step;
  for (const TraceEvent& event : trace.events) of_step[event.step].push_back(event);
  ASSERT_EQ(of_step.size(), 6u);
  std::int64_t last_ns = 0;
  for (const auto& [step, events] : of_step) {
    SCOPED_TRACE(step);
    const auto begins = [](const TraceEvent& event) { return event.begin_ns; };
    EXPECT_GT(std::ranges::min(events, {}, begins).begin_ns, last_ns);
    last_ns = std::ranges::max(events, {}, begins).begin_ns;
    if (step >= 2 && step < 4) {
      EXPECT_EQ(events.size(), 4u);
      EXPECT_TRUE(std::ranges::none_of(
          events, [](const TraceEvent& event) { return event.task == kWholeStep; }));
      continue;
    }
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, TraceKind::compute);
    EXPECT_EQ(events[0].name, "step");
    EXPECT_EQ(events[0].task, kWholeStep);
    EXPECT_EQ(events[0].begin_ns, events[0].end_ns);
  }
}

TEST(DeviceTrace, TellsTasksWithoutTheirTimesInOrder) {
  const SteadyClock clock;
  SoleModelRank sole(clock);
  SomeSteps trace(2, 4, TraceDetail::order);
  run_six_steps(sole, trace);
  for (const std::int64_t step : {2, 3}) {
    SCOPED_TRACE(step);
    std::vector<TraceEvent> events = trace.events;
    std::erase_if(events, [&](const TraceEvent& event) { return event.step != step; });
    // The begin, three kernels, and the sum, which has its times.
    ASSERT_EQ(events.size(), 5u);
    std::int64_t begins = 0, kernels = 0, sums = 0;
    for (const TraceEvent& event : events) {
      begins += event.task == kWholeStep;
      sums += event.kind == TraceKind::communication && event.end_ns > event.begin_ns;
      if (event.name != "backward") continue;
      ++kernels;
      EXPECT_EQ(event.begin_ns, event.end_ns);
      EXPECT_LE(event.end_ns, clock.now_ns());
    }
    EXPECT_EQ(begins, 1);
    EXPECT_EQ(kernels, 3);
    EXPECT_EQ(sums, 1);
  }
}

TEST(DeviceTrace, AnUntimedTaskCostsOneEventAndNoTime) {
  const SteadyClock clock;
  SoleModelRank untimed(clock), timed(clock);
  SomeSteps none(0, 0);
  KeptTimes all;
  run_six_steps(untimed, none);
  run_six_steps(timed, all);
  // One timeline's origin, and a begin and an end each.
  EXPECT_EQ(timed.rank.device.times_asked(), 2 * 6 * 4);
  EXPECT_EQ(timed.rank.device.records(), 1 + 2 * 6 * 4);
  EXPECT_EQ(untimed.rank.device.times_asked(), 6);
  EXPECT_EQ(untimed.rank.device.records(), 1 + 6 + 6 * 4);
}

}  // namespace
}  // namespace hocket
