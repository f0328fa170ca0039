#include "profiler/metrics/exposed_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::ElementsAre;

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
