// Jobs whose gradients are summed by parameter servers, as programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/sim/tape_replay.h"
#include "core/step/link.h"
#include "core/step/schedule_config.h"
#include "core/tape/tape.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kServedModel{"--steps", "18", "--layers",   "2",  "--d-model", "64",
                                            "--batch", "2",  "--sequence", "32", "--json"};

ProcessResult run_served(const std::string& ranks, const std::string& servers,
                         const ScheduleConfig& config, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = kServedModel;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(
      {program("hocket"), "run", "--ranks", ranks, "--servers", servers, "--", program("gpt2")},
      arguments, {{"HOCKET_CONFIG", to_json(config).dump()}});
}

TEST(Gpt2ServersJob, TheLossCurveIsThatOfAllReducesToTheBit) {
  const auto reduced = run_served("2", "0", {});
  ASSERT_TRUE(reduced.succeeded()) << reduced.stderr_text;
  const auto expected = parse_object(reduced.stdout_text, "output").value();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed);
    ScheduleConfig config;
    config.communication = Communication::parameter_server;
    config.partition_bytes = std::int64_t{4096} << random() % 8;
    config.credit_bytes = std::int64_t{4096} << random() % 10;
    config.pull_credit_bytes = random() % 2 ? 0 : std::int64_t{4096} << random() % 10;
    config.comm_channels = 1 + static_cast<int>(random() % 3);
    config.order = static_cast<CollectiveOrder>(random() % 3);
    SCOPED_TRACE(to_json(config).dump());
    const std::string servers = std::to_string(1 + seed % 3);
    const auto job = run_served("2", servers, config);
    ASSERT_TRUE(job.succeeded()) << job.stderr_text;
    const auto result = parse_object(job.stdout_text, "output").value();
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_EQ(result["topology"]["link"], "tcp, parameter servers: " + servers);
    EXPECT_GT(result["iterations"].size(), 3U);
    EXPECT_THAT(job.stderr_text, HasSubstr(", parameter servers"));
  }
}

TEST(Gpt2ServersJob, ServersUpdateWithTheBitsOfTheRanks) {
  const std::vector<std::string> more = {"--micro-batches", "2"};
  const auto updated_by_ranks = run_served("2", "0", {}, more);
  ASSERT_TRUE(updated_by_ranks.succeeded()) << updated_by_ranks.stderr_text;
  const auto expected = parse_object(updated_by_ranks.stdout_text, "output").value();
  EXPECT_GT(expected["optimizer_bytes"], 0);
  for (const std::int64_t partition_bytes : {16 << 10, 1 << 30}) {
    std::vector<std::string> served = more;
    served.push_back("--update-on-servers");
    const auto job = run_served("2", "2", {.partition_bytes = partition_bytes}, served);
    ASSERT_TRUE(job.succeeded()) << job.stderr_text;
    const auto result = parse_object(job.stdout_text, "output").value();
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_EQ(result["optimizer_bytes"], 0);
    EXPECT_EQ(result["config"]["communication"], "parameter_server");
  }
}

TEST(Gpt2ServersJob, UpdatesOnServersAreRefusedByNameWhereThereAreNone) {
  const auto refusal = [](const std::string& servers, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--update-on-servers"};
    all.insert(all.end(), more.begin(), more.end());
    const auto job = run_served("1", servers, {}, all);
    EXPECT_FALSE(job.succeeded());
    return job.stderr_text;
  };
  EXPECT_THAT(refusal("0", {}), HasSubstr("the job has no parameter servers"));
  EXPECT_THAT(refusal("1", {"--shard-optimizer"}), HasSubstr("leave out --shard-optimizer"));
  EXPECT_THAT(refusal("1", {"--device", "emulated:1GiB"}), HasSubstr("of the host alone"));
  EXPECT_THAT(refusal("1", {"--profile", "step.json"}), HasSubstr("leave one of them out"));
}

TEST(Gpt2ServersJob, ATapeOfPushesAndPullsReplays) {
  const TemporaryFolder folder;
  ScheduleConfig config;
  config.communication = Communication::parameter_server;
  config.partition_bytes = 32 << 10;
  config.order = CollectiveOrder::negotiated;
  const auto job = run_served("2", "2", config, {"--record", folder.file("run.tape")});
  ASSERT_TRUE(job.succeeded()) << job.stderr_text;
  for (const char* name : {"run.tape", "run.tape.1"}) {
    const std::string bytes = read_file(folder.file(name)).value();
    auto tape = TapeReader::open(bytes);
    ASSERT_TRUE(tape) << tape.error().message;
    EXPECT_EQ(tape->header().plan.servers, 2);
    const auto replay = replay_tape(*tape);
    ASSERT_TRUE(replay) << replay.error().message;
    EXPECT_FALSE(replay->incomplete);
    EXPECT_FALSE(replay->difference);
    EXPECT_GT(replay->started_parts, 100U);
  }
}

TEST(Gpt2ServersJob, WhatServersCannotDoIsRefusedByName) {
  ScheduleConfig config;
  config.communication = Communication::parameter_server;
  const auto without = run_served("2", "0", config);
  EXPECT_FALSE(without.succeeded());
  EXPECT_THAT(without.stderr_text, HasSubstr("the job can start with all_reduce"));
  const auto sharded = run_served("2", "1", config, {"--shard-optimizer"});
  EXPECT_FALSE(sharded.succeeded());
  EXPECT_THAT(sharded.stderr_text, HasSubstr("the job can start with all_reduce"));
}

TEST(Gpt2ServersJob, EmulatedLinksChangeNothingButTimeAndTheLinksName) {
  ScheduleConfig served;
  served.communication = Communication::parameter_server;
  served.partition_bytes = 32 << 10;
  served.comm_channels = 2;
  const auto reduced = run_served("2", "0", {});
  ASSERT_TRUE(reduced.succeeded()) << reduced.stderr_text;
  const auto expected = parse_object(reduced.stdout_text, "output").value();
  struct Case {
    std::vector<std::string> options;
    std::string servers;  ///< in the link's name
    ScheduleConfig config;
  };
  const Case cases[] = {
      {{}, "1 on 1gbit,10us", served},
      {{"--server-link", "2gbit"}, "2 on 2gbit", served},
      {{"--colocated-servers"}, "3 on hosts of ranks", served},
      {{}, "2 on 1gbit,10us", {}},
  };
  for (const Case& emulated : cases) {
    SCOPED_TRACE(emulated.servers);
    std::vector<std::string> options = {"--link", "1gbit,10us"};
    options.insert(options.end(), emulated.options.begin(), emulated.options.end());
    const auto job = run_served("2", emulated.servers.substr(0, 1), emulated.config, options);
    ASSERT_TRUE(job.succeeded()) << job.stderr_text;
    const auto result = parse_object(job.stdout_text, "output").value();
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["topology"]["link"],
              "emulated 1gbit,10us, parameter servers: " + emulated.servers);
    // The bound is that of a ring, which these sums do not go over.
    const bool is_ring = emulated.config.communication == Communication::all_reduce;
    EXPECT_EQ(result.contains("bound_ns"), is_ring);
    EXPECT_EQ(result.contains("overlap_efficiency"), is_ring);
  }
}

TEST(Gpt2ServersJob, AProfileSaysWhatTheEmulatedLinksOfServersAre) {
  const TemporaryFolder folder;
  const auto job = run_served(
      "2", "2", {},
      {"--link", "1gbit,10us", "--server-link", "500mbit", "--profile", folder.file("step.json")});
  ASSERT_TRUE(job.succeeded()) << job.stderr_text;
  const auto step = parse_step_description(read_file(folder.file("step.json")).value());
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->servers, (StepServers{.servers = 2,
                                        .rank_link = parse_link("1gbit,10us").value(),
                                        .server_link = parse_link("500mbit").value()}));
}

TEST(Gpt2ServersJob, LinksOfServersThatNothingEmulatesAreRefused) {
  struct Case {
    std::vector<std::string> options;
    const char* servers;
    const char* message;
  };
  const Case cases[] = {
      {{"--server-link", "1gbit"}, "1", "--server-link: links are emulated only with --link"},
      {{"--colocated-servers"}, "1", "--colocated-servers: links are emulated only with --link"},
      {{"--link", "1gbit", "--server-link", "1gbit", "--colocated-servers"},
       "1",
       "--server-link: colocated servers share the links of ranks"},
      {{"--link", "1gbit", "--server-link", "1gbit"},
       "0",
       "--server-link: the job has no parameter servers"},
      {{"--link", "1gbit", "--colocated-servers"},
       "0",
       "--colocated-servers: the job has no parameter servers"},
      {{"--link", "1gbit", "--server-link", "fast"},
       "1",
       "--server-link: link \"fast\": expected RATE[,LATENCY]"},
  };
  for (const Case& refused : cases) {
    const auto job = run_served("2", refused.servers, {}, refused.options);
    EXPECT_FALSE(job.succeeded());
    EXPECT_THAT(job.stderr_text, HasSubstr(refused.message));
  }
}

}  // namespace
}  // namespace hocket
