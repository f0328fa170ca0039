// Tests jobs whose steps are partitioned: four ranks on two hosts over Gloo, and configurations
// refused before anything runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kSmallGrid = {"--layers", "2", "--d-model", "64", "--sequence", "32",
                                             "--batch",  "2", "--steps",   "18", "--json"};

std::vector<std::string> grid_job(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kSmallGrid;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ProcessResult run_on_two_hosts(const ScheduleConfig& config, const std::vector<std::string>& more) {
  return run_command({"sh", HOCKET_TWO_HOSTS, HOCKET_BIN "/gpt2"}, grid_job(more),
                     {{"HOCKET_CONFIG", to_json(config).dump()}});
}

std::vector<float> losses_of(const ProcessResult& process) {
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  const auto output = parse_object(process.stdout_text, "output");
  return output ? (*output)["losses"].get<std::vector<float>>() : std::vector<float>();
}

TEST(Gpt2PartitionJob, TwoHostsTrainAlikeHoweverStepsArePartitioned) {
  struct Case {
    ScheduleConfig config;
    std::vector<std::string> more;
  };
  std::vector<Case> cases(4);
  cases[0].config.group_ranks = 2;
  cases[0].config.partition_bytes = 32 << 10;
  cases[1].config = cases[0].config;
  cases[1].config.launch = CollectiveLaunch::deferred;
  cases[1].config.comm_channels = 2;
  cases[1].config.order = CollectiveOrder::static_order;
  cases[2].config = cases[1].config;
  cases[2].config.compute_parts = 2;
  cases[2].config.micro_batches_kept = 2;
  cases[2].config.streams = 2;
  cases[2].config.order = CollectiveOrder::negotiated;
  cases[2].config.regions["backward_block1"].primitive =
      CollectivePrimitive::reduce_scatter_all_gather;
  cases[3].config = cases[2].config;
  cases[3].more = {"--shard-optimizer"};
  const std::vector<std::string> two_batches = {"--micro-batches", "2"};
  const auto plain = run_on_two_hosts({}, two_batches);
  if (plain.exit_status == 77) GTEST_SKIP() << plain.stderr_text;
  const std::vector<float> expected = losses_of(plain);
  ASSERT_EQ(expected.size(), 18u);
  for (auto& [config, more] : cases) {
    SCOPED_TRACE(to_json(config).dump());
    more.insert(more.end(), two_batches.begin(), two_batches.end());
    const std::vector<float> losses = losses_of(run_on_two_hosts(config, more));
    ASSERT_EQ(losses.size(), expected.size());
    // The tolerance of partition_test.cc.
    for (std::size_t step = 0; step < losses.size(); ++step)
      EXPECT_NEAR(losses[step], expected[step], 1e-5f * expected[step]) << "step " << step;
  }
}

TEST(Gpt2PartitionJob, ADescriptionOfTwoHostsSaysWhatGroupsCost) {
  const TemporaryFolder folder;
  const std::string file = folder.file("step.json");
  const auto process = run_on_two_hosts({}, {"--profile", file});
  if (process.exit_status == 77) GTEST_SKIP() << process.stderr_text;
  ASSERT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  const auto step = parse_step_description(read_file(file).value());
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->ranks, 4);
  EXPECT_EQ(step->ranks_per_host, 2);
  for (const auto& cost : {step->collective_inside, step->collective_between}) {
    ASSERT_TRUE(cost);
    EXPECT_GT(cost->alpha_ns + cost->beta_ns_per_byte, 0);
  }
}

TEST(Gpt2PartitionJob, ADescriptionHasRegionsAndIsSimulatedUnderThem) {
  const TemporaryFolder folder;
  const std::string file = folder.file("step.json");
  const auto process = run_alone(grid_job({"--micro-batches", "2", "--profile", file}));
  ASSERT_TRUE(process.succeeded()) << process.stderr_text;
  const auto step = parse_step_description(read_file(file).value());
  ASSERT_TRUE(step) << step.error().message;
  std::int64_t computing_ns = 0;
  for (const StepTask& task : step->tasks) {
    EXPECT_FALSE(task.place.region.empty()) << task.name;
    computing_ns += task.duration_ns;
  }
  EXPECT_GT(computing_ns, 0);
  ScheduleConfig config;
  config.compute_parts = 2;
  config.micro_batches_kept = 2;
  config.regions["backward_block0"].launch = CollectiveLaunch::deferred;
  const auto simulation = simulate(*step, {.config = config});
  ASSERT_TRUE(simulation) << simulation.error().message;
  EXPECT_GT(simulation->iteration_ns, 0);

  config.order = CollectiveOrder::static_order;
  const auto followed = run_alone(grid_job({"--micro-batches", "2", "--step", file}),
                                  {{"HOCKET_CONFIG", to_json(config).dump()}});
  EXPECT_TRUE(followed.succeeded()) << followed.stderr_text;
  EXPECT_EQ(followed.stderr_text.find("warning"), std::string::npos) << followed.stderr_text;
}

TEST(Gpt2PartitionJob, WhatDoesNotFitTheStepIsExitStatusTwoBeforeAnythingRuns) {
  const auto config_of = [](const json& fields) {
    json document = {{"format", "hocket-schedule"}, {"version", 1}};
    document.update(fields);
    return document.dump();
  };
  struct Case {
    json config;
    std::vector<std::string> words, more = {};
  };
  const Case cases[] = {
      {{{"regions", {{"backward_blok1", {{"launch", "deferred"}}}}}},
       {"regions.backward_blok1", "backward_block1"}},
      {{{"regions", {{"backward_block1", {{"compute_parts", 2}, {"dimension", "columns"}}}}}},
       {"regions.backward_block1.dimension", "columns"}},
      {{{"group_ranks", 3}}, {"group_ranks=3", "the job can start with 1"}},
      {{{"regions", {{"backward_head", {{"streams", 3}}}}}}, {"backward_head", "streams"}},
      {{{"regions", {{"backward_head", {{"bucket_bytes", 4096}, {"compute_parts", 2}}}}}},
       {"backward_head", "compute_parts"}},
      {{{"micro_batches_kept", 8}},
       {"micro_batches_kept", "keep at most"},
       {"--micro-batches", "8", "--memory-limit", "9MiB"}},
      {json::object(), {"expected 1 to 4096 micro-batches, found 0"}, {"--micro-batches", "0"}},
  };
  for (const auto& [config, words, more] : cases) {
    const auto process = run_alone(grid_job(more), {{"HOCKET_CONFIG", config_of(config)}});
    EXPECT_EQ(process.exit_status, 2) << process.stderr_text;
    EXPECT_EQ(process.stdout_text, "");
    for (const std::string& word : words) EXPECT_THAT(process.stderr_text, HasSubstr(word));
  }
}

}  // namespace
}  // namespace hocket
