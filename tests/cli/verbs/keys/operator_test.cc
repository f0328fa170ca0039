// Tests the verbs that use a daemon, against one on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/json_members.h"
#include "core/protocol/job_message.h"
#include "tests/cli/answer.h"
#include "tests/daemon/running_daemon.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Answer run(const std::vector<std::string>& arguments) {
  return ask_hocket(arguments);
}

class OperatorTest : public ::testing::Test {
 protected:
  Answer ask(std::vector<std::string> arguments) const {
    arguments.push_back("--daemon");
    arguments.push_back(daemon_.url());
    return run(arguments);
  }

  /// Registers a job and returns its key.
  std::string add_job(const std::string& id, const std::string& workload,
                      std::int64_t version = 0) const {
    Topology topology;
    topology.link = "tcp";
    topology.world_size = 2;
    const JobDescription job{.id = id,
                             .name = "train",
                             .host = "b7",
                             .topology = topology,
                             .workload = {workload, {{"a", 1 << 20}}},
                             .config = {},
                             .version = version};
    return text_member(post("/v1/jobs", to_json(job)), "key");
  }

  nlohmann::json post(const std::string& target, const nlohmann::json& body) const {
    HttpClient client({.address = must(parse_daemon_address(daemon_.url()))});
    return must(ask_daemon(client, "POST", target, body));
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  RunningDaemon daemon_{*store_};
};

TEST_F(OperatorTest, AnErrorListsKeysAsTheyAreToBeNamed) {
  const auto key = add_job("job-1", "gpt2");
  const auto answer = ask({"push", "bert", "--set", "streams=2"});
  const std::string name = key.substr(0, 8) + "." + key.substr(key.find('.') + 1, 8);
  EXPECT_THAT(answer.err, HasSubstr(name + "  gpt2"));
  EXPECT_THAT(answer.err, Not(HasSubstr(key)));
  EXPECT_EQ(ask({"push", name, "--set", "streams=2"}).status, 0);
}

TEST_F(OperatorTest, TheRankThatAJobWaitsForIsNamed) {
  add_job("job-1", "gpt2");
  EXPECT_THAT(ask({"stragglers", "--job", "job-1"}).out, HasSubstr("counted nothing yet"));
  JobReport report{.job = "job-1"};
  for (std::int64_t step = 0; step < 60; ++step) {
    report.iteration_ns.push_back(100'000'000);
    report.counted.push_back({.step = step,
                              .ranks = {{.waited_ns = 50'000'000, .computed_ns = 50'000'000},
                                        {.waited_ns = 20'000'000, .computed_ns = 80'000'000}}});
  }
  post("/v1/reports", to_json(report));
  const auto named = ask({"stragglers", "--job", "train"});
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_THAT(named.out,
              HasSubstr("rank 1 is late in most steps; the others wait for it 30.00 ms"));
  EXPECT_THAT(named.out, HasSubstr("its computation takes longer"));
  EXPECT_THAT(named.out, Not(HasSubstr("rank 0 is late")));
  EXPECT_THAT(ask({"stragglers", "--job", "job-1", "--json"}).out, HasSubstr("late_ranks"));
  EXPECT_THAT(ask({"stragglers", "--job", "job-2"}).err, HasSubstr("there are job-1"));
}

TEST_F(OperatorTest, JobsSaysWhatBeingTunedCostsOfWhomItIsKnown) {
  add_job("job-1", "gpt2");
  add_job("job-2", "bert");
  EXPECT_THAT(ask({"jobs"}).out, Not(HasSubstr("own cost")));
  post("/v1/reports", to_json(JobReport{.job = "job-1", .values = {{"own_cost_percent", 0.126}}}));
  const std::string table = ask({"jobs"}).out;
  EXPECT_THAT(table, ::testing::ContainsRegex("explored +own cost +tuning"));
  EXPECT_THAT(table, ::testing::ContainsRegex("job-1 .* 0.13 % "));
  EXPECT_THAT(table, ::testing::ContainsRegex("job-2 .* -  "));
  const auto document = nlohmann::json::parse(ask({"jobs", "--json"}).out);
  EXPECT_EQ(document["jobs"][0]["values"]["own_cost_percent"], 0.126);
  EXPECT_FALSE(document["jobs"][1].contains("values"));
  post("/v1/reports", to_json(JobReport{.job = "job-1", .values = {{"own_cost_percent", 0.0001}}}));
  EXPECT_THAT(ask({"jobs"}).out, ::testing::ContainsRegex("job-1 .* <0.01 % "));
  post("/v1/reports", to_json(JobReport{.job = "job-2", .ended = true}));
  EXPECT_THAT(ask({"jobs", "--ended"}).out, Not(HasSubstr("own cost")));
  post("/v1/reports", to_json(JobReport{.job = "job-1", .ended = true}));
  const std::string ended = ask({"jobs", "--ended"}).out;
  EXPECT_THAT(ended, ::testing::ContainsRegex("explored +own cost +tried"));
  EXPECT_THAT(ended, ::testing::ContainsRegex("job-1 .* <0.01 % "));
}

TEST_F(OperatorTest, JobsSaysWhereVersionsComeFrom) {
  add_job("job-1", "gpt2");
  EXPECT_THAT(ask({"jobs"}).out, ::testing::ContainsRegex("job-1 .* own +- "));
  EXPECT_EQ(ask({"push", "gpt2", "--set", "credit_bytes=8MiB"}).status, 0);
  add_job("job-2", "gpt2", 1);
  add_job("job-3", "gpt2", 2);  // no such version
  add_job("job-4", "bert", 1);  // another key's version
  const std::string table = ask({"jobs"}).out;
  EXPECT_THAT(table, ::testing::ContainsRegex("version +version from +explored"));
  EXPECT_THAT(table, ::testing::ContainsRegex("job-2 .* 1 +push by local@127.0.0.1, 20"));
  EXPECT_THAT(table, ::testing::ContainsRegex("job-3 .* 2 +- "));
  EXPECT_THAT(table, ::testing::ContainsRegex("job-4 .* 1 +- "));
}

TEST_F(OperatorTest, AConfigurationIsPushedPinnedFrozenRolledBackAndAudited) {
  const auto key = add_job("job-1", "gpt2");
  EXPECT_THAT(ask({"jobs"}).out, AllOf(HasSubstr("job-1"), HasSubstr("tuning")));
  EXPECT_THAT(ask({"configs"}).out, Not(HasSubstr("gpt2")));
  // A key without a version can be pinned, too.
  const auto without = ask({"pin", "gpt2"});
  EXPECT_THAT(without.out, HasSubstr("has no version, pinned\njobs keep their own default"));
  EXPECT_THAT(without.out, HasSubstr("until `hocket pin gpt2 --off --daemon http://127.0.0.1:"));
  EXPECT_THAT(ask({"pin", "gpt2", "--off"}).out,
              HasSubstr("has no version\nstudies and live tuning may change it again"));
  post("/v1/reports", to_json(JobReport{.job = "job-1", .ended = true}));
  const auto pushed = ask({"push", key, "--set", "credit_bytes=8MiB", "--note", "as on b7"});
  EXPECT_EQ(pushed.status, 0) << pushed.err;
  EXPECT_THAT(pushed.out, HasSubstr("gpt2 (" + key.substr(0, 8)));
  EXPECT_THAT(pushed.out, HasSubstr("version 1 staged"));
  EXPECT_THAT(pushed.out, Not(HasSubstr(key)));
  // No job can try it, so it is released; a watcher sees that.
  const auto watched = ask({"watch", "gpt2", "--count", "1"});
  EXPECT_EQ(watched.status, 0) << watched.err;
  EXPECT_THAT(watched.out, HasSubstr("version 1: "));
  EXPECT_THAT(watched.out, HasSubstr("credit_bytes=8388608"));
  EXPECT_THAT(ask({"configs"}).out, HasSubstr("gpt2"));

  EXPECT_THAT(ask({"pin", "gpt2"}).out, HasSubstr("version 1 (push by local@127.0.0.1, "));
  EXPECT_THAT(ask({"pin", "gpt2"}).out,
              HasSubstr(", pinned\nversion 1 stays in force: what studies and live tuning find is "
                        "recorded as held, until `hocket pin gpt2 --off"));
  EXPECT_THAT(ask({"pin", "gpt2", "--off"}).out, Not(HasSubstr("pinned")));
  EXPECT_THAT(ask({"freeze", "gpt2"}).out, HasSubstr(", frozen"));
  EXPECT_THAT(ask({"freeze", "gpt2", "--off"}).out, Not(HasSubstr("frozen")));

  // The second push keeps the knob set by the first.
  ask({"push", "gpt2", "--set", "partition_bytes=1MiB"});
  const auto second = ask({"watch", "gpt2", "--count", "1", "--json"});
  const auto document = nlohmann::json::parse(second.out);
  EXPECT_EQ(document["config"]["credit_bytes"], 8 << 20);
  const auto back = ask({"rollback", "gpt2", "--note", "slower"});
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_THAT(back.out, HasSubstr("version 3 (rollback"));
  const auto audit = ask({"audit", "gpt2"});
  for (const char* what : {"promote", "as on b7", "slower", "local"}) {
    EXPECT_THAT(audit.out, HasSubstr(what));
  }
  EXPECT_EQ(nlohmann::json::parse(ask({"audit", "--json", "--limit", "2"}).out)["entries"].size(),
            2u);
}

TEST_F(OperatorTest, APushSaysWhenOneKnobHidesAnother) {
  add_job("job-1", "gpt2");
  const auto pushed = ask({"push", "gpt2", "--set", "bucket_cap_mb=64"});
  EXPECT_EQ(pushed.status, 0) << pushed.err;
  EXPECT_THAT(pushed.err, HasSubstr("note: partition_bytes=4MiB decides, not bucket_bytes=64MiB"));
  EXPECT_EQ(
      ask({"push", "gpt2", "--set", "partition_bytes=64MiB", "--set", "credit_bytes=1GiB"}).err,
      "");
}

TEST_F(OperatorTest, WhatIsWrongIsSaidWithWhatToDo) {
  add_job("job-1", "gpt2");
  add_job("job-2", "bert");
  const std::tuple<std::vector<std::string>, int, const char*> cases[] = {
      {{"push", "gpt3", "--set", "streams=2"}, 2, "no key is named \"gpt3\"; there are"},
      {{"push", "", "--set", "streams=2"}, 2, "no key is named"},
      {{"push", "gpt2"}, 2, "--set NAME=VALUE, or --config FILE"},
      {{"push", "gpt2", "--set", "streams=0"}, 2, "from 1 to 64"},
      {{"push", "gpt2", "--set", "stream=2"}, 2, "streams"},
      {{"push", "gpt2", "--config", "/no/such/file"}, 2, "/no/such/file"},
      {{"pin", "gpt2", "--version", "77"}, 2, "has no version 77"},
      {{"rollback", "gpt2"}, 2, "no version to roll back"},
      {{"audit", "--limit", "0"}, 2, "--limit"},
  };
  for (const auto& [arguments, status, message] : cases) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    const auto ended = ask(arguments);
    EXPECT_EQ(ended.status, status);
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_EQ(ended.out, "");
  }
}

TEST(Operator, ADaemonThatIsNotThereIsSaid) {
  const auto ended = run({"jobs", "--daemon", "http://127.0.0.1:1"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(run({"jobs", "--daemon", "ftp://x"}).status, 2);
}

TEST(Serve, RefusesWhatItCannotServe) {
  const TemporaryFolder folder;
  const std::string store = folder.file("s.db"), tokens = folder.file("tokens");
  std::ofstream(tokens) << "admin ada 0123456789abcdef\n";
  chmod(tokens.c_str(), 0644);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--listen", "here"}, "expected ADDRESS:PORT"},
      {{"--listen", "127.0.0.1:77777"}, "expected ADDRESS:PORT"},
      {{"--listen", "0.0.0.0:0"}, "--insecure"},
      {{"--certificate", "/no/such.pem"}, "--certificate and --key go together"},
      {{"--certificate", "/no/such.pem", "--key", "/no/such.key"}, "/no/such"},
      {{"--token-file", tokens}, "chmod 600"},
      {{"--token-file", "/no/such/file"}, "/no/such/file"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--body-limit", "x"}, "--body-limit"},
      {{"--name", "tuner:7077"}, "--name: expected a host name or an IP address without a port"},
  };
  for (const auto& [more, message] : cases) {
    std::vector<std::string> arguments = {"serve", "--store", store};
    if (more[0] != "--listen") arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = run(arguments);
    EXPECT_EQ(ended.status, 2) << more[0];
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_EQ(ended.out, "");
  }
}

}  // namespace
}  // namespace hocket
