#include "profiler/calibration/placed_times.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hocket {
namespace {

std::vector<ProfiledCopy> copies_of(
    const std::map<std::int64_t, std::vector<std::int64_t>>& times) {
  std::vector<ProfiledCopy> copies;
  for (const auto& [bytes, of_size] : times)
    for (const std::int64_t ns : of_size)
      copies.push_back({.is_to_device = true, .bytes = bytes, .duration_ns = ns});
  return copies;
}

TEST(CopyCost, IsALineThroughTheMedians) {
  auto copies = copies_of({{1000, {2100, 2000, 90'000}}, {2000, {3000}}, {9000, {10'000, 10'000}}});
  copies.push_back({.is_to_device = false, .bytes = 10, .duration_ns = 70});
  const PartCost to_device = fit_copy_cost(copies, true);
  EXPECT_NEAR(to_device.alpha_ns, 1000, 150);
  EXPECT_NEAR(to_device.beta_ns_per_byte, 1, 0.05);
  EXPECT_EQ(fit_copy_cost(copies, false), (PartCost{.beta_ns_per_byte = 7}));
}

TEST(CopyCost, IsNeverNegative) {
  EXPECT_EQ(fit_copy_cost({}, true), PartCost{});
  const auto falls = copies_of({{1000, {3000}}, {2000, {1000}}});
  EXPECT_EQ(fit_copy_cost(falls, true), (PartCost{.alpha_ns = 2000}));
  const auto steep = copies_of({{1000, {1000}}, {3000, {5000}}});
  EXPECT_EQ(fit_copy_cost(steep, true), (PartCost{.beta_ns_per_byte = 1.5}));
  const auto of_unknown_size = copies_of({{0, {3000}}});
  EXPECT_EQ(fit_copy_cost(of_unknown_size, true), (PartCost{.alpha_ns = 3000}));
}

/// Two updates of 100 and 300 bytes, of the layers 0 and 1.
StepDescription two_updates() {
  StepDescription step;
  step.data = {"first", "second"};
  step.data_places = {{.bytes = 100, .layer = 0}, {.bytes = 300, .layer = 1}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    StepTask& task = step.tasks.emplace_back();
    task.name = "update " + step.data[i];
    task.accesses = {update(DataId{i})};
    task.place.updates_layer = i;
  }
  step.device_memory_bytes = 1000;
  return step;
}

ProfiledStep step_with(std::int64_t offload_k, std::int64_t first_ns, std::int64_t second_ns) {
  ProfiledStep step;
  for (const std::int64_t ns : {first_ns, second_ns}) {
    const auto layer = static_cast<std::int64_t>(step.tasks.size());
    step.tasks.push_back({.name = "update",
                          .accesses = {},
                          .duration_ns = ns,
                          .lane = layer < offload_k ? TaskLane::stream : TaskLane::host});
  }
  step.placed_from = std::make_shared<const StepDescription>(two_updates());
  return step;
}

TEST(UpdateTimes, AreOfTheSideOnWhichTheyRan) {
  const std::vector<ProfiledStep> both{step_with(0, 20, 66), step_with(2, 4, 9),
                                       step_with(0, 20, 66)};
  const auto step = describe_step(both).value();
  EXPECT_EQ(step.tasks[0].host_duration_ns, 20);
  EXPECT_EQ(step.tasks[1].host_duration_ns, 66);
  EXPECT_EQ(step.tasks[0].duration_ns, 4);
  EXPECT_EQ(step.tasks[1].duration_ns, 9);
}

TEST(UpdateTimes, FollowFromTheRateOrElseFromTheOtherSide) {
  const std::vector<ProfiledStep> mixed{step_with(1, 5, 60), step_with(1, 5, 60)};
  const auto step = describe_step(mixed).value();
  EXPECT_EQ(step.tasks[0].duration_ns, 5);
  EXPECT_EQ(step.tasks[1].duration_ns, 15) << "5 ns for 100 bytes";
  EXPECT_EQ(step.tasks[0].host_duration_ns, 20) << "60 ns for 300 bytes";
  EXPECT_EQ(step.tasks[1].host_duration_ns, 60);
  const std::vector<ProfiledStep> host_alone{step_with(0, 20, 66)};
  EXPECT_EQ(describe_step(host_alone).value().tasks[1].duration_ns, 66);
}

TEST(UpdateTimes, RareDelaysCount) {
  // In most steps one of the two takes ten times as long, but neither does in most.
  const std::vector<ProfiledStep> delayed{step_with(0, 100, 1000), step_with(0, 1000, 100),
                                          step_with(0, 100, 1000), step_with(0, 1000, 100),
                                          step_with(0, 100, 100)};
  const auto step = describe_step(delayed).value();
  EXPECT_NEAR(static_cast<double>(step.tasks[0].host_duration_ns + step.tasks[1].host_duration_ns),
              1100, 2);
}

}  // namespace
}  // namespace hocket
