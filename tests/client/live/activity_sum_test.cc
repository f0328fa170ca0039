#include "client/live/activity_sum.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

TEST(ActivitySum, TakesTheMedianAndWeighsLanesByTime) {
  ActivitySum sum;
  EXPECT_FALSE(sum.take());
  sum.add(
      {.exposed_ns = 10, .lanes = {{TraceKind::compute, 0, 1}, {TraceKind::communication, 0, 0.5}}},
      100);
  sum.add({.exposed_ns = 90, .lanes = {{TraceKind::compute, 0, 0.5}}}, 300);
  sum.add({.exposed_ns = 20, .lanes = {{TraceKind::compute, 1, 0.25}}}, 400);
  const JobActivity expected{.exposed_ns = 20,
                             .lanes = {{TraceKind::compute, 0, 250. / 800},
                                       {TraceKind::compute, 1, 100. / 800},
                                       {TraceKind::communication, 0, 50. / 800}}};
  EXPECT_EQ(sum.take(), expected);
  EXPECT_FALSE(sum.take()) << "it was taken";
  sum.add({.exposed_ns = 1}, 1);
  sum.clear();
  EXPECT_FALSE(sum.take());
}

TEST(ActivitySum, IsWithinWhatAReportMayHold) {
  ActivitySum sum;
  JobActivity wide;
  for (std::int64_t lane = 0; lane < 1000; ++lane)
    wide.lanes.push_back({TraceKind::compute, lane, 1});
  for (std::size_t i = 0; i < kMaxReportedIterations + 10; ++i) sum.add({.exposed_ns = 1}, 1);
  sum.add(wide, 1);
  EXPECT_TRUE(sum.take()->lanes.empty()) << "no more iterations are counted";
  sum.add(wide, 1);
  const JobReport report{.job = "j", .activity = sum.take()};
  EXPECT_EQ(report.activity->lanes.size(), kMaxReportedLanes);
  EXPECT_EQ(job_report_from_json(to_json(report)).value(), report);
}

}  // namespace
}  // namespace hocket
