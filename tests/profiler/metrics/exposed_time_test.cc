#include "profiler/metrics/exposed_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::ElementsAre;

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

RankTrace trace_with(
    std::vector<std::tuple<TraceKind, std::int64_t, std::int64_t>> kind_begin_end) {
  RankTrace trace;
  trace.names = {"task"};
  for (const auto& [kind, begin_ns, end_ns] : kind_begin_end) {
    TraceRecord record;
    record.kind = kind;
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    trace.records.push_back(record);
  }
  return trace;
}

constexpr auto kWork = TraceKind::compute;
constexpr auto kPart = TraceKind::communication;

TEST(ExposedSlices, AreWhatNoComputationHides) {
  const auto trace =
      trace_with({{kPart, 0, 100}, {kWork, 10, 20}, {kWork, 15, 30}, {kWork, 50, 60}});
  EXPECT_THAT(
      exposed_slices(trace),
      ElementsAre(ExposedSlice{{0, 10}, 0}, ExposedSlice{{30, 50}, 0}, ExposedSlice{{60, 100}, 0}));
}

TEST(ExposedSlices, AreOfTheCommunicationThatBeganFirst) {
  const auto trace =
      trace_with({{kPart, 0, 10}, {kPart, 2, 20}, {kPart, 3, 8}, {kWork, 12, 14}, {kPart, 15, 30}});
  EXPECT_THAT(exposed_slices(trace),
              ElementsAre(ExposedSlice{{0, 10}, 0}, ExposedSlice{{10, 12}, 1},
                          ExposedSlice{{14, 20}, 1}, ExposedSlice{{20, 30}, 4}));
}

TEST(ExposedSlices, OfHiddenOrEmptyCommunicationAreNone) {
  EXPECT_THAT(exposed_slices(trace_with({{kWork, 0, 50}, {kPart, 10, 50}, {kPart, 60, 60}})),
              ElementsAre());
}

}  // namespace
}  // namespace hocket
