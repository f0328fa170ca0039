#include "archive/profiles/report/diff_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/archive/profiles/profiled_job.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<ProfileIteration> iterations(double mean_ns, double sigma_ns, std::uint64_t seed,
                                         std::int64_t count = 20) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean_ns, sigma_ns);
  std::vector<ProfileIteration> all;
  for (std::int64_t step = 0; step < count; ++step) {
    const auto ns = static_cast<std::int64_t>(normal(random));
    all.push_back({.rank = 0, .step = step, .wall_ns = ns, .compute_ns = 500'000});
    // Iterations of other ranks do not count.
    all.push_back({.rank = 1, .step = step, .wall_ns = 7});
  }
  return all;
}

TEST(DiffIterations, ADifferenceIsBeyondTheNoiseOrWithinIt) {
  int beyond = 0;
  const int kRounds = static_cast<int>(rounds(200));
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    const auto before = iterations(1e6, 1e4, seed);
    const auto same = diff_iterations(before, iterations(1e6, 1e4, seed + 1'000'000));
    ASSERT_EQ(same.size(), 4U);
    beyond += same[0].is_beyond_noise() ? 1 : 0;
    const auto slower = diff_iterations(before, iterations(1.05e6, 1e4, seed + 1'000'000));
    EXPECT_TRUE(slower[0].is_beyond_noise());
    EXPECT_NEAR(slower[0].after_ns - slower[0].before_ns, 5e4, 2e4);
    const auto faster = diff_iterations(iterations(1.05e6, 1e4, seed + 1'000'000), before);
    EXPECT_NEAR(faster[0].p, slower[0].p, 1e-12);
    // Equal values are no difference.
    EXPECT_EQ(same[1].name, "compute_ns");
    EXPECT_FALSE(same[1].is_beyond_noise());
  }
  EXPECT_LE(beyond, kRounds / 10) << "of equal ones 5 % at most, but for luck";
}

TEST(DiffIterations, WithoutIterationsThereIsNothingToSay) {
  EXPECT_THAT(diff_iterations({}, iterations(1, 0, 1)), IsEmpty());
  EXPECT_THAT(diff_iterations(iterations(1, 0, 1), {}), IsEmpty());
  const auto single = diff_iterations(iterations(10, 0, 1, 1), iterations(20, 0, 1, 1));
  EXPECT_FALSE(single[0].is_beyond_noise()) << "one value each shows nothing";
}

/// Returns a trace of two iterations of 100 ns with a task "a" of `a_ns` in each.
RankTrace trace_of(std::int64_t a_ns) {
  RankTrace trace;
  trace.names = {"a", "b"};
  trace.step_starts = {{0, 1000}, {1, 1100}, {2, 1200}};
  for (const std::int64_t begin_ns : {1000, 1100, 1200}) {
    TraceRecord record;
    record.begin_ns = begin_ns;
    record.end_ns = begin_ns + a_ns;
    trace.records.push_back(record);
  }
  return trace;
}

TEST(DiffTasks, TakesMediansInsideWindowsLargestChangeFirst) {
  RankTrace before = trace_of(10), after = trace_of(14);
  after.records[2].end_ns = 5000;  // outside all windows
  for (const std::int64_t begin_ns : {1020, 1030, 1120, 1130}) {
    TraceRecord record;
    record.kind = TraceKind::communication;
    record.name = 1;
    record.begin_ns = begin_ns;
    record.end_ns = begin_ns + 3;
    before.records.push_back(record);
  }
  put_in_order(before);
  const auto tasks = diff_tasks({&before, 1}, {&after, 1});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].name, "b");
  EXPECT_EQ(tasks[0].kind, TraceKind::communication);
  EXPECT_EQ(tasks[0].before, (TaskFigures{4, 3, 6}));
  EXPECT_EQ(tasks[0].after, TaskFigures());
  EXPECT_EQ(tasks[0].change_ns(), -6);
  EXPECT_EQ(tasks[1].before, (TaskFigures{2, 10, 10}));
  EXPECT_EQ(tasks[1].after, (TaskFigures{2, 14, 14}));
}

TEST(DiffTasks, OfTwoRanksAnIterationHasTheirMean) {
  const std::vector<RankTrace> before = {trace_of(10), trace_of(20)};
  const auto tasks = diff_tasks(before, before);
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].before, (TaskFigures{4, 15, 15}));
  EXPECT_EQ(tasks[0].change_ns(), 0);
}

TEST(DiffProfiles, AProfileDoesNotDifferFromItself) {
  ProfiledJob job;
  const auto row = job.add();
  const auto difference = must(diff_profiles(*job.store, row, row));
  EXPECT_FALSE(difference.times.empty());
  EXPECT_FALSE(difference.metrics.empty());
  EXPECT_FALSE(difference.tasks.empty());
  for (const auto& time : difference.times) EXPECT_EQ(time.p, 1) << time.name;
  for (const auto& metric : difference.metrics) EXPECT_EQ(metric.before, metric.after);
  for (const auto& task : difference.tasks) EXPECT_EQ(task.before, task.after);
  EXPECT_THAT(difference.notes, IsEmpty());
}

TEST(DiffProfiles, FindsTheTaskThatBecameSlower) {
  ProfiledJob job;
  StepDescription slow = small_step();
  slow.layers[1].backward_ns += 700'000;
  const auto before = job.add(), after = job.add(slow);
  const auto difference = must(diff_profiles(*job.store, before, after));
  ASSERT_FALSE(difference.tasks.empty());
  EXPECT_EQ(difference.tasks[0].name, "backward 1 out");
  EXPECT_EQ(difference.tasks[0].change_ns(), 700'000);
  EXPECT_TRUE(difference.times[0].is_beyond_noise());
  EXPECT_EQ(to_json(difference)["tasks"][0]["change_ns"], 700'000);
}

TEST(DiffProfiles, WithoutTracesTheRestIsCompared) {
  ProfiledJob job;
  auto before = job.add(), after = job.add();
  for (auto& rank : after.ranks) rank.trace_path.clear();
  const auto difference = must(diff_profiles(*job.store, before, after));
  EXPECT_FALSE(difference.times.empty());
  EXPECT_THAT(difference.tasks, IsEmpty());
  ASSERT_FALSE(difference.notes.empty());
  EXPECT_THAT(difference.notes.back(), HasSubstr("tasks are not compared"));
}

TEST(LayerOf, IsTheWordBeforeTheFirstPoint) {
  EXPECT_EQ(layer_of("block2.mlp.dw"), "block2");
  EXPECT_EQ(layer_of("layer 3.forward"), "layer 3");
  EXPECT_EQ(layer_of("block.12.mlp.dw"), "block.12");
  EXPECT_EQ(layer_of("block.12"), "block.12");
  EXPECT_EQ(layer_of("block.1x.mlp"), "block");
  for (const char* none : {"", "step", ".dw", "void at::native::f<4>(x.y)", "ampere_sgemm"})
    EXPECT_EQ(layer_of(none), "") << none;
}

TEST(LayerOf, IsTheFirstWordOfTheRegionAtTheEnd) {
  EXPECT_EQ(layer_of("matmul with up.weight in block12.mlp"), "block12");
  EXPECT_EQ(layer_of("gradient of up.weight in block3.mlp/backward/micro_batch1"), "block3");
  EXPECT_EQ(layer_of("matmul with tokens in head"), "head");
  EXPECT_EQ(layer_of("add in embedding/backward"), "embedding");
  EXPECT_EQ(layer_of("copy in f<x.y>"), "");
}

TEST(DiffLayers, SumsComputationsInTheOrderOfTheirNumbers) {
  const auto task = [](TraceKind kind, const char* name, double before_ns, double after_ns) {
    TaskDifference difference{.kind = kind, .name = name};
    difference.before.per_iteration_ns = before_ns;
    difference.after.per_iteration_ns = after_ns;
    return difference;
  };
  const std::vector<TaskDifference> tasks = {
      task(TraceKind::compute, "block10.dx", 1, 2), task(TraceKind::compute, "block2.dx", 3, 4),
      task(TraceKind::compute, "block2.dw", 5, 0), task(TraceKind::communication, "block2.w", 7, 7),
      task(TraceKind::compute, "kernel", 9, 9)};
  EXPECT_THAT(diff_layers(tasks),
              ::testing::ElementsAre(LayerDifference{"", 9, 9}, LayerDifference{"block2", 8, 4},
                                     LayerDifference{"block10", 1, 2}));
}

}  // namespace
}  // namespace hocket
