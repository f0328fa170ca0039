#include "archive/profiles/predicted_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::IsEmpty;

TEST(PredictedTimeline, IsOneIterationOfTheSimulation) {
  TraceRecorder recorder;
  auto options = small_options(6);
  options.trace = &recorder;
  const auto simulation = must(simulate(small_step(), options));
  const auto timeline = last_iteration(recorder, 0);
  EXPECT_EQ(timeline.end_ns, simulation.iteration_ns);
  EXPECT_EQ(timeline.left_out, 0U);
  EXPECT_TRUE(std::ranges::is_sorted(timeline.lanes));
  std::int64_t compute_ns = 0;
  for (const auto& box : timeline.boxes) {
    ASSERT_LT(box.lane, timeline.lanes.size());
    ASSERT_LT(box.name, timeline.names.size());
    EXPECT_GE(box.begin_ns, 0);
    EXPECT_GE(box.end_ns, box.begin_ns);
    EXPECT_LE(box.end_ns, timeline.end_ns);
    if (timeline.lanes[box.lane].kind == TraceKind::compute)
      compute_ns += box.end_ns - box.begin_ns;
  }
  EXPECT_EQ(compute_ns, simulation.compute_ns);  // there is one stream
  const auto document = to_json(timeline);
  EXPECT_EQ(document["boxes"].size(), timeline.boxes.size());
  EXPECT_EQ(document["lanes"][0]["kind"], "compute");
}

TEST(PredictedTimeline, WithoutAWholeIterationItIsEmpty) {
  TraceRecorder recorder;
  EXPECT_THAT(last_iteration(recorder, 0).boxes, IsEmpty());
  recorder.record({.name = "a", .step = 0, .begin_ns = 1, .end_ns = 2});
  EXPECT_THAT(last_iteration(recorder, 0).boxes, IsEmpty());
  EXPECT_EQ(last_iteration(recorder, 0).end_ns, 0);
}

TEST(PredictedTimeline, CutsBoxesAtItsEndsAndCountsThoseLeftOut) {
  TraceRecorder recorder;
  recorder.record({.name = "long", .step = 0, .begin_ns = 100, .end_ns = 260});
  recorder.record({.name = "next", .step = 1, .begin_ns = 200, .end_ns = 300});
  auto timeline = last_iteration(recorder, 3);
  EXPECT_EQ(timeline.rank, 3);
  ASSERT_EQ(timeline.boxes.size(), 1U);
  EXPECT_EQ(timeline.boxes[0].end_ns, 100);
  for (std::size_t i = 0; i < kMostPredictedBoxes + 4; ++i)
    recorder.record({.name = "short", .step = 0, .begin_ns = 150, .end_ns = 151});
  timeline = last_iteration(recorder, 3);
  EXPECT_EQ(timeline.boxes.size(), kMostPredictedBoxes);
  EXPECT_EQ(timeline.left_out, 5U);
}

}  // namespace
}  // namespace hocket
