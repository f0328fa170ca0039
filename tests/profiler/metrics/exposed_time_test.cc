#include "profiler/metrics/exposed_time.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(ExposedTime, WhatCannotBeTrueIsNoActivity) {
  TraceRecord good, no_lane, inverted, no_bytes;
  good.begin_ns = 10, good.end_ns = 20;
  no_lane = inverted = no_bytes = good;
  no_lane.end_ns = no_bytes.end_ns = 500;
  no_lane.lane = -1;
  no_bytes.bytes = -1;
  inverted.end_ns = 3;
  const auto activity = busy_intervals_of(std::vector{no_lane, good, inverted, no_bytes});
  EXPECT_EQ(activity.compute, (std::vector<Interval>{{10, 20}}));
}

TEST(ExposedTime, AMillionRecordsInAsManyWindowsAreMeasured) {
  constexpr std::int64_t kRecords = 1'000'000;
  std::vector<TraceRecord> records(kRecords);
  std::vector<StepStart> starts;
  for (std::int64_t i = 0; i < kRecords; ++i) {
    TraceRecord& record = records[static_cast<std::size_t>(i)];
    record.kind = i % 2 == 0 ? TraceKind::compute : TraceKind::communication;
    record.begin_ns = 100 * i;
    record.end_ns = record.begin_ns + 150;
    starts.push_back({i, 100 * i});
  }
  const auto iterations = measure_windows(windows_of(starts, 0), busy_intervals_of(records));
  ASSERT_EQ(iterations.size(), static_cast<std::size_t>(kRecords - 1));
  // Each window contains its own record, and in its first half the one before, of the other kind.
  for (std::size_t i = 1; i < iterations.size(); ++i) {
    const bool computes = i % 2 == 0;
    ASSERT_EQ(iterations[i].compute_ns, computes ? 100 : 50);
    ASSERT_EQ(iterations[i].communication_ns, computes ? 50 : 100);
    ASSERT_EQ(iterations[i].exposed_ns, computes ? 0 : 50);
  }
}

}  // namespace
}  // namespace hocket
