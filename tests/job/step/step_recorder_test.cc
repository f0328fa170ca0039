#include "job/step/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/job/toy_model.h"

namespace hocket {
namespace {

using testing::ElementsAre;

TEST(StepRecorder, RecordsTheTasksInOrderAndRunsNone) {
  ToyModel model({.ranks = 4, .ranks_per_host = 2});
  const StepDescription step = record_step(model);
  std::vector<std::string> names;
  for (const StepTask& task : step.tasks) names.push_back(task.name);
  EXPECT_THAT(names, ElementsAre("low.forward", "high.forward", "high.backward", "high",
                                 "high.update", "low.backward", "low", "low.update"));
  EXPECT_THAT(step.data, ElementsAre("input", "low", "low.gradient", "high", "high.gradient"));
  EXPECT_EQ(step.ranks, 4);
  EXPECT_EQ(step.ranks_per_host, 2);
  EXPECT_EQ(step.tasks[3].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(step.tasks[3].bytes, 16);
  EXPECT_FALSE(step.tasks[2].collective);
  EXPECT_EQ(model.weight(), 0.0f);
}

TEST(StepRecorder, TasksThatShareANameAreNumbered) {
  StepRecorder recorder({});
  const DataId data = recorder.add_data({.bytes = 8}, "data");
  for (int i = 0; i < 3; ++i) recorder.compute({.name = "same"}, std::array{read(data)}, [] {});
  EXPECT_EQ(recorder.step().tasks[0].name, "same");
  EXPECT_EQ(recorder.step().tasks[2].name, "same #2");
}

TEST(StepRecorder, CollectivesUpdateTheirDataAndHaveTheirKind) {
  StepRecorder recorder({.ranks = 2});
  const DataId data = recorder.add_data({.bytes = 16}, "data");
  std::array<float, 4> values = {};
  recorder.all_reduce({.name = "sum"}, data, values);
  recorder.reduce_scatter({.name = "scatter"}, data, values);
  recorder.all_gather({.name = "gather"}, data, values);
  recorder.optimizer_step({.name = "step"}, data, values, OptimizerStep{});
  std::vector<CollectiveKind> kinds;
  for (const StepTask& task : recorder.step().tasks) {
    kinds.push_back(task.collective.value());
    ASSERT_EQ(task.accesses.size(), 1u);
    EXPECT_EQ(task.accesses[0].mode, AccessMode::update) << task.name;
  }
  EXPECT_THAT(kinds, ElementsAre(CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                 CollectiveKind::all_gather, CollectiveKind::all_reduce));
}

TEST(StepRecorder, TheMemoryOfMicroBatchesIsTheModels) {
  ToyModel model;
  EXPECT_EQ(record_step(model).micro_batch_bytes, 0);
  model.memory = {.bytes_each = 100, .limit_bytes = 250};
  EXPECT_EQ(record_step(model).micro_batch_bytes, 100);
  EXPECT_EQ(record_step(model).memory_limit_bytes, 250);
}

}  // namespace
}  // namespace hocket
