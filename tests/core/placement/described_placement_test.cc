#include "core/placement/described_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/plan/dependency_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// One layer, whose gradients are computed in two ranges of one buffer, and its update.
struct RangesOfGradients {
  RangesOfGradients() {
    const auto add = [&](const char* name, DataPlace place) {
      step.data.emplace_back(name);
      step.data_places.push_back(place);
      return DataId{static_cast<std::uint32_t>(step.data.size()) - 1};
    };
    parameters = add("parameters", {.bytes = 1024, .layer = 0});
    gradients = add("gradients", {.bytes = 1024, .is_transient = true});
    const DataId first = add("first", {.bytes = 512, .range_of = gradients.index});
    const DataId second = add("second", {.bytes = 512, .range_of = gradients.index});
    compute("forward", 0, {read(parameters)});
    compute("first", 1, {read(parameters), read(gradients), write(first)});
    compute("second", 2, {read(parameters), read(gradients), write(second)});
    StepTask& update_task = compute("update", 3, {update(gradients), update(parameters)});
    update_task.place.updates_layer = 0;
    update_task.duration_ns = 10;
    update_task.host_duration_ns = 70;
    step.to_device = {.alpha_ns = 5, .beta_ns_per_byte = 2, .latency_ns = 1};
    step.to_host = {.alpha_ns = 7, .beta_ns_per_byte = 1};
    step.device_memory_bytes = 4096;
  }

  StepTask& compute(const char* name, std::uint32_t priority, std::vector<Access> accesses) {
    StepTask& task = step.tasks.emplace_back();
    task.name = name;
    task.priority = priority;
    task.accesses = std::move(accesses);
    return task;
  }

  StepDescription step;
  DataId parameters, gradients;
};

std::size_t position_of(const StepDescription& step, const std::string& name) {
  const auto found = std::ranges::find(step.tasks, name, &StepTask::name);
  EXPECT_NE(found, step.tasks.end()) << name;
  return static_cast<std::size_t>(found - step.tasks.begin());
}

TEST(DescribedPlacement, CopiesHaveLanesTimesAndThePriorityOfWhoNeedsThem) {
  const RangesOfGradients ranges;
  const auto placed = place_description(ranges.step, {.offload_k = 0}).value();
  const auto task = [&](const char* name) {
    return placed.step.tasks[position_of(placed.step, name)];
  };
  EXPECT_EQ(task("fetch parameters").lane, TaskLane::to_device);
  EXPECT_EQ(task("fetch parameters").duration_ns, 5 + 2 * 1024 + 1);
  EXPECT_EQ(task("fetch parameters").priority, 0u) << "the forward pass needs them";
  EXPECT_EQ(task("evict gradients").lane, TaskLane::to_host);
  EXPECT_EQ(task("evict gradients").duration_ns, 7 + 1024);
  EXPECT_EQ(task("evict gradients").priority, 3u) << "the update needs them";
  EXPECT_EQ(task("update").lane, TaskLane::host);
  EXPECT_EQ(task("update").duration_ns, 70);
  EXPECT_EQ(task("first").lane, TaskLane::stream);
}

TEST(DescribedPlacement, OnTheDeviceAnUpdateTakesTheDevicesTime) {
  const RangesOfGradients ranges;
  const auto placed = place_description(ranges.step, {.offload_k = 1}).value();
  EXPECT_EQ(placed.step.tasks.size(), ranges.step.tasks.size());
  EXPECT_EQ(placed.step.tasks.back().duration_ns, 10);
  EXPECT_EQ(placed.step.tasks.back().lane, TaskLane::stream);
}

TEST(DescribedPlacement, ABufferIsMovedWhenAllItsRangesAreComputed) {
  const RangesOfGradients ranges;
  const auto placed = place_description(ranges.step, {.offload_k = 0}).value();
  DependencyGraph<int> graph;
  for (std::size_t i = 0; i < placed.step.data.size(); ++i) graph.add_data();
  std::vector<TaskId> tasks;
  for (const StepTask& task : placed.step.tasks) tasks.push_back(graph.add(task.accesses).task);
  const TaskId evict = tasks[position_of(placed.step, "evict gradients")];
  bool is_ready = false;
  for (const char* name : {"fetch parameters", "forward", "first", "second"}) {
    EXPECT_FALSE(is_ready) << name;
    graph.finish(tasks[position_of(placed.step, name)],
                 [&](std::uint32_t slot) { is_ready = is_ready || slot == evict.slot; });
  }
  EXPECT_TRUE(is_ready);
}

TEST(DescribedPlacement, CountsLayersAndRefusesPartitionedSteps) {
  RangesOfGradients ranges;
  EXPECT_EQ(layers_of(ranges.step), 1);
  EXPECT_EQ(layers_of({}), 0);
  const auto refused = place_description(ranges.step, {.bucket_bytes = 1 << 20});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("leave out bucket_bytes"));
}

}  // namespace
}  // namespace hocket
