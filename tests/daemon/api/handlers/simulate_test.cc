// Predictions as the daemon answers them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/daemon/api/handlers/stored_profiles.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class SimulateApiTest : public ::testing::Test, protected StoredProfiles {
 protected:
  nlohmann::json simulate_with(const nlohmann::json& request) {
    return daemon.ask("POST", "/v1/simulate", request);
  }
  std::string refusal(const nlohmann::json& request) {
    const auto response = daemon.call("POST", "/v1/simulate", request.dump());
    EXPECT_EQ(response.status, 400) << request;
    return *response.body;
  }
};

TEST_F(SimulateApiTest, AProfileIsPredictedAgainstWhatItRanWith) {
  const auto same = simulate_with({{"profile", name}});
  EXPECT_NEAR(same["speedup"], 1, 1e-9);
  EXPECT_EQ(same["iteration_ns"], same["baseline"]["iteration_ns"]);
  EXPECT_EQ(same["config"]["partition_bytes"], 1 << 20);
  EXPECT_LE(same["low_ns"], same["iteration_ns"]);
  EXPECT_GE(same["high_ns"], same["iteration_ns"]);
  EXPECT_THAT(same["error_text"].get<std::string>(), HasSubstr("error bar"));
  EXPECT_FALSE(same["timeline"]["boxes"].empty());
  EXPECT_EQ(same["timeline"]["end_ns"], same["iteration_ns"]);

  const auto cut = simulate_with({{"profile", name}, {"config", {{"partition_bytes", 65536}}}});
  EXPECT_EQ(cut["config"]["partition_bytes"], 65536);
  EXPECT_EQ(cut["baseline"], same["baseline"]);
  EXPECT_GT(cut["parts"], same["parts"]);
}

TEST_F(SimulateApiTest, AStepThatIsNotPredictedItselfIsComparedWithNothing) {
  const std::string bad = job.add_traces(ProfiledJob::paused_traces()).name;
  const auto same = simulate_with({{"profile", bad}});
  EXPECT_TRUE(same["speedup"].is_null());
  EXPECT_THAT(same["withheld"].get<std::string>(), HasSubstr("too short"));
  EXPECT_THAT(refusal({{"profile", bad}, {"config", {{"partition_bytes", 65536}}}}),
              HasSubstr("record ten steps"));
  EXPECT_THAT(refusal({{"profile", bad}, {"host_link", "1gbit"}}), HasSubstr("record ten steps"));
}

TEST_F(SimulateApiTest, IsWhatTheSimulatorSays) {
  ScheduleConfig config;
  config.partition_bytes = 1 << 19;
  const auto truth = must(simulate(small_step(), {.config = config}));
  const auto answer = simulate_with(
      {{"step", to_json(small_step())}, {"config", {{"partition_bytes", config.partition_bytes}}}});
  EXPECT_EQ(answer["iteration_ns"], truth.iteration_ns);
  EXPECT_EQ(answer["exposed_ns"], truth.exposed_ns);
  EXPECT_TRUE(answer["low_ns"].is_null());
  EXPECT_TRUE(answer["error"].is_null());
}

TEST_F(SimulateApiTest, ProgramsOfRanksArePredictedInAStaticOrder) {
  StepDescription step;
  step.ranks = step.ranks_per_host = 2;
  step.mesh = {{"pipeline", 2}};
  step.message = PartCost{1000, 0.1, 0};
  // Each rank first receives from the other one in one of two orders of submission.
  for (const std::int64_t own : {0, 1}) {
    RankProgram program{.name = "", .at = {{"pipeline", {own}}}, .data = {"x", "y"}, .tasks = {}};
    for (const auto kind : {CollectiveKind::send, CollectiveKind::receive}) {
      StepTask& task = program.tasks.emplace_back();
      task.name = to_string(kind);
      task.collective = kind;
      task.bytes = 1000;
      task.peer = MessagePeer{1 - own, false};
      task.accesses = {update({kind == CollectiveKind::send ? 0u : 1u})};
    }
    step.programs.push_back(std::move(program));
  }
  EXPECT_THAT(refusal({{"step", to_json(step)}}), HasSubstr("order=static"));
  const auto answer = simulate_with({{"step", to_json(step)}, {"config", {{"order", "static"}}}});
  EXPECT_GT(answer["iteration_ns"], 0);
  EXPECT_TRUE(answer["efficiency"].is_null());
  EXPECT_EQ(answer["baseline"]["name"], "the configuration asked about");
}

TEST_F(SimulateApiTest, OtherRanksAndLinksArePredicted) {
  const auto fast = simulate_with({{"profile", name},
                                   {"ranks", 4},
                                   {"ranks_per_host", 2},
                                   {"host_link", "100gbit,1us"},
                                   {"network_link", "10gbit,20us"}});
  const auto slow = simulate_with({{"profile", name},
                                   {"ranks", 4},
                                   {"ranks_per_host", 2},
                                   {"host_link", "100gbit,1us"},
                                   {"network_link", "1gbit,20us"},
                                   {"rank", 3}});
  EXPECT_EQ(fast["ranks"], 4);
  EXPECT_EQ(fast["ranks_per_host"], 2);
  EXPECT_GT(slow["iteration_ns"], fast["iteration_ns"]);
  EXPECT_EQ(simulate_with({{"step", to_json(small_step())}, {"ranks", 8}})["ranks"], 8);
  const auto slower_devices = simulate_with({{"profile", name}, {"compute_scale", 3}});
  EXPECT_GT(slower_devices["compute_ns"], simulate_with({{"profile", name}})["compute_ns"]);
}

TEST_F(SimulateApiTest, AFactorOnTheBandwidthOfAllLinksIsPredicted) {
  for (const nlohmann::json& subject :
       {nlohmann::json{{"profile", name}}, nlohmann::json{{"step", to_json(small_step())}}}) {
    auto slow = subject, fast = subject;
    slow["bandwidth_scale"] = 0.1;
    fast["bandwidth_scale"] = 2;
    const std::int64_t usual_ns = simulate_with(subject)["communication_ns"];
    EXPECT_LT(simulate_with(fast)["communication_ns"], usual_ns);
    EXPECT_GT(simulate_with(slow)["communication_ns"], 5 * usual_ns);
  }
  EXPECT_THAT(refusal({{"profile", name}, {"bandwidth_scale", 0}}), HasSubstr("bandwidth"));
  const std::string bad = job.add_traces(ProfiledJob::paused_traces()).name;
  EXPECT_THAT(refusal({{"profile", bad}, {"bandwidth_scale", 2}}), HasSubstr("record ten steps"));
}

TEST_F(SimulateApiTest, WhatCannotBeSimulatedIsRefused) {
  EXPECT_THAT(refusal(nlohmann::json::object()), HasSubstr("either"));
  EXPECT_THAT(refusal({{"profile", name}, {"step", to_json(small_step())}}), HasSubstr("either"));
  EXPECT_THAT(refusal({{"profile", name}, {"config", 7}}), HasSubstr("config"));
  EXPECT_THAT(refusal({{"profile", name}, {"config", {{"streams", -1}}}}), HasSubstr("streams"));
  EXPECT_THAT(refusal({{"profile", name}, {"rank", 2}}), HasSubstr("rank"));
  EXPECT_THAT(refusal({{"profile", name}, {"ranks", 0}}), HasSubstr("ranks"));
  EXPECT_THAT(refusal({{"profile", name}, {"host_link", "fast"}}), HasSubstr("link"));
  EXPECT_THAT(refusal({{"step", {{"layers", 3}}}}), HasSubstr("step"));
  auto large = small_step();
  large.layers[0].parameter_bytes = std::int64_t{1} << 34;
  EXPECT_EQ(simulate_with({{"step", to_json(large)}})["baseline"]["name"], "hocket's defaults");
  EXPECT_THAT(refusal({{"step", to_json(large)}, {"config", {{"partition_bytes", 4096}}}}),
              HasSubstr("too long"));
  EXPECT_EQ(status("POST", "/v1/simulate", R"({"profile":"other"})"), 404);
}

}  // namespace
}  // namespace hocket
