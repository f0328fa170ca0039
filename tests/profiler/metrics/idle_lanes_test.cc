#include "profiler/metrics/idle_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

/// Tasks 0 and 1 are of the device, 2 of the host, 3 and 4 copies to the device and to the host.
const std::vector<TaskLane> kLanes{TaskLane::stream, TaskLane::stream, TaskLane::host,
                                   TaskLane::to_device, TaskLane::to_host};

TraceRecord record_of(TraceKind kind, std::int32_t lane, std::int64_t task, std::int64_t begin_ns,
                      std::int64_t end_ns) {
  TraceRecord record;
  record.kind = kind;
  record.lane = lane;
  record.task = task;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  return record;
}

/// Two iterations of 100 ns, the second with records of the first's host that know no task.
RankTrace traced() {
  RankTrace trace;
  trace.names = {"task"};
  trace.step_starts = {{4, 100}, {5, 200}, {6, 300}};
  trace.records = {record_of(TraceKind::compute, 0, 0, 100, 140),
                   record_of(TraceKind::compute, 1, 1, 120, 160),
                   record_of(TraceKind::compute, 2, 2, 170, 190),
                   record_of(TraceKind::copy, 0, 3, 90, 110),
                   record_of(TraceKind::copy, 1, 4, 150, 225),
                   record_of(TraceKind::communication, 0, 0, 100, 300),
                   record_of(TraceKind::compute, 2, kNoTask, 210, 260),
                   record_of(TraceKind::compute, 0, 0, 200, 300)};
  put_in_order(trace);
  return trace;
}

TEST(IdleLanes, AreOfTheLaneThatTasksRanOn) {
  const auto iterations = measure_idle_lanes(traced(), kLanes);
  ASSERT_EQ(iterations.size(), 2u);
  EXPECT_EQ(iterations[0].step, 4);
  const auto near = [](double value) { return DoubleNear(value, 1e-9); };
  EXPECT_THAT(iterations[0].share, ElementsAre(near(0.4), near(0.8), near(0.9), near(0.5)))
      << "two streams that run at once count once";
  EXPECT_EQ(iterations[1].step, 5);
  EXPECT_THAT(iterations[1].share, ElementsAre(near(0), near(0.5), near(1), near(0.75)));
}

TEST(IdleLanes, FiguresAreMediansUnderTheirNames) {
  const auto metrics = named_metrics(3, measure_idle_lanes(traced(), kLanes));
  ASSERT_EQ(metrics.size(), kTaskLanes);
  EXPECT_EQ(metrics[0].name, "device_idle_share");
  EXPECT_EQ(metrics[1].name, "host_idle_share");
  EXPECT_EQ(metrics[2].name, "to_device_idle_share");
  EXPECT_EQ(metrics[3].name, "to_host_idle_share");
  EXPECT_EQ(metrics[3].rank, 3);
  EXPECT_NEAR(metrics[0].value, 0.2, 1e-9);
  EXPECT_NEAR(metrics[3].value, 0.625, 1e-9);
  EXPECT_TRUE(named_metrics(0, std::vector<IdleLanes>()).empty());
  EXPECT_TRUE(measure_idle_lanes({}, kLanes).empty());
}

}  // namespace
}  // namespace hocket
