#include "job/training/measured_steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "job/step/step_recorder.h"
#include "tests/core/host/ranks.h"
#include "tests/job/toy_model.h"

namespace hocket {
namespace {

StepDescription toy_step() {
  ToyModel model({.ranks = 2});
  return record_step(model);
}

Dimension dimension(const std::string& name) {
  Dimension dimension;
  dimension.name = name;
  return dimension;
}

TEST(MeasuredSteps, HaveTheSameTasksWhereKindsSizesPrioritiesAndAccessesAreEqual) {
  const StepDescription step = toy_step();
  EXPECT_TRUE(have_same_tasks(step, step));
  const std::function<void(StepTask&)> changes[] = {
      [](StepTask& task) { task.collective.reset(); }, [](StepTask& task) { task.bytes = 8; },
      [](StepTask& task) { task.priority = 7; }, [](StepTask& task) { task.accesses.clear(); }};
  for (const auto& change : changes) {
    StepDescription other = step;
    change(other.tasks[3]);
    EXPECT_FALSE(have_same_tasks(step, other));
  }
  StepDescription shorter = step;
  shorter.tasks.pop_back();
  EXPECT_FALSE(have_same_tasks(step, shorter));
}

TEST(MeasuredSteps, KeepTheirTimesAndTakePlacesFromTheSubmittedStep) {
  StepDescription submitted = toy_step();
  submitted.device_memory_bytes = 1000;
  submitted.micro_batch_bytes = 100;
  submitted.memory_limit_bytes = 200;
  submitted.tasks[0].place.dimensions = {dimension("rows"), dimension("columns")};
  StepDescription measured = submitted;
  measured.data = {"0", "1", "2", "3", "4"};
  measured.data_places.clear();
  measured.ranks = measured.ranks_per_host = 1;
  measured.device_memory_bytes = measured.micro_batch_bytes = measured.memory_limit_bytes = 0;
  measured.compute_slowdown = 0.25;
  measured.tasks[0].duration_ns = 7;
  measured.tasks[0].host_duration_ns = 70;
  measured.tasks[0].place.dimensions = {dimension("columns")};
  measured.tasks[0].place.dimensions[0].piece_ns = 5;

  StepDescription expected = submitted;
  expected.compute_slowdown = 0.25;
  expected.tasks[0].duration_ns = 7;
  expected.tasks[0].host_duration_ns = 70;
  expected.tasks[0].place.dimensions[1].piece_ns = 5;
  EXPECT_EQ(with_places(measured, submitted), expected);
}

TEST(MeasuredSteps, AreAllButTheFirstOfAPhase) {
  run_local_ranks(2, [](int, Collective& collective) {
    ToyModel model(collective.grid());
    const SteadyClock clock;
    const Training training{.model = model, .collective = collective, .clock = clock};
    std::vector<ProfiledStep> profiled;
    ASSERT_TRUE(run_measured(training, {.config = {}, .end_step = 4}, profiled));
    EXPECT_EQ(profiled.size(), 3u);
    const auto step = described_step(training, profiled);
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_TRUE(have_same_tasks(*step, toy_step()));
    EXPECT_EQ(step->channel_split, 0);
    EXPECT_EQ(step->data, toy_step().data);
  });
}

}  // namespace
}  // namespace hocket
