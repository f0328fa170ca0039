// Tests that nothing which nobody declared reaches a command, whoever puts it into a store or into
// a daemon's answer. A command that replaces the process runs in a child of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "archive/studies/plain_job.h"
#include "client/link/http_client.h"
#include "core/host/topology_probe.h"
#include "core/protocol/job_message.h"
#include "store/open.h"
#include "store/sqlite/connection.h"
#include "tests/cli/answer.h"
#include "tests/client/fake_daemon.h"
#include "tests/daemon/running_daemon.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class HostileSetting : public ::testing::Test {
 protected:
  void SetUp() override {
    // A daemon's threads may hold the allocator's lock while a child is forked.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    unsetenv("HOCKET_DAEMON");
    for (const char* name : {"BASH_ENV", "FOO_FLAG", "MODE", "X"}) unsetenv(name);
  }

  /// Runs `hocket VERB OPTIONS -- COMMAND` in this process, for death tests.
  static int run(Words words) { return run_hocket(words, std::cout, std::cerr, 0); }

  /// Expects that `hocket with` runs a command without a setting, and says why.
  void expect_unset(const Words& source, const std::string& why) const {
    Words words = {"with", "--workload", "work"};
    words.insert(words.end(), source.begin(), source.end());
    words.insert(words.end(), {"--", "sh", "-c",
                               "echo \"env:$BASH_ENV$FOO_FLAG$LD_PRELOAD$X$MODE.\" >&2; exit 9"});
    EXPECT_EXIT(run(words), ExitedWithCode(9), why + "(.|\n)*env:\\.");
    for (const char* format : {"env", "sh", "args"}) {
      Words fetch = {"fetch", "--workload", "work", "--format", format};
      fetch.insert(fetch.end(), source.begin(), source.end());
      const auto answer = ask_hocket(fetch);
      EXPECT_EQ(answer.out, "") << format;
      EXPECT_EQ(answer.status, 2) << format;
    }
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  std::unique_ptr<Store> store_ = must(open_store(path_));
};

/// The attack of two jobs that register a variable of their own in their configuration.
TEST_F(HostileSetting, OfJobsIsRefusedWhenTheyRegister) {
  const RunningDaemon daemon(*store_);
  const std::string made = folder_.file("made");
  for (const json& fields : {json{{"BASH_ENV", "$(touch " + made + ")"}}, json{{"FOO_FLAG", 1}}}) {
    for (const char* id : {"a", "b"}) {
      JobDescription job{.id = id, .topology = must(probe_topology()), .workload = {"work", {}}};
      json document = to_json(job);
      document["config"].update(fields);
      HttpClient client({.address = must(parse_daemon_address(daemon.url()))});
      const auto answer =
          client.send({.method = "POST", .target = "/v1/jobs", .body = document.dump()},
                      deadline_after_ns(20'000'000'000));
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->status, 400);
      EXPECT_THAT(answer->body, HasSubstr(fields.items().begin().key()));
    }
  }
  EXPECT_TRUE(must(store_->promotions({})).empty());
  EXPECT_EXIT(run({"with", "--workload", "work", "--daemon", daemon.url(), "--", "bash", "-c",
                   "echo \"env:$BASH_ENV$FOO_FLAG.\" >&2; exit 9"}),
              ExitedWithCode(9), "env:\\.");
  EXPECT_FALSE(std::filesystem::exists(made));
}

/// Another program wrote the row.
TEST_F(HostileSetting, OfAStoredRowIsShownAndNeverSet) {
  must(store_->promote({.topology_id = must(store_->upsert_topology(must(probe_topology()))),
                        .workload_id = must(store_->upsert_workload({"work", {}})),
                        .config = to_json(ScheduleConfig{}),
                        .origin = PromotionOrigin::push,
                        .actor = "ada"}));
  for (const json& fields :
       {json{{"BASH_ENV", "x"}}, json{{"FOO_FLAG", "1"}}, json{{"X", 3}, {"MODE", "a"}}}) {
    json config = to_json(ScheduleConfig{});
    config.update(fields);
    auto file = must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 10'000));
    must(file.execute("UPDATE promotions SET config = ?1", config.dump()));
    const std::string name = fields.items().begin().key();
    expect_unset({"--store", path_}, name + ". is not declared");
    EXPECT_THAT(ask_hocket({"fetch", "--workload", "work", "--store", path_}).out, HasSubstr(name));
    const RunningDaemon daemon(*store_);
    expect_unset({"--daemon", daemon.url()}, name + ". is not declared");
  }
}

/// A version whose study was removed keeps what it declared.
TEST_F(HostileSetting, OfARemovedStudyKeepsItsDeclaration) {
  NewStudy study = sample_study();
  const auto id = must(store_->create_study(study)).id;
  must(store_->promote({.topology_id = must(store_->upsert_topology(must(probe_topology()))),
                        .workload_id = must(store_->upsert_workload({"work", {}})),
                        .study_id = id,
                        .config = {{"X", 3}}}));
  must(store_->remove_study(id, study.owner, ""));
  const RunningDaemon daemon(*store_);
  for (const Words& source : {Words{"--store", path_}, Words{"--daemon", daemon.url()}}) {
    Words fetch = {"fetch", "--workload", "work", "--format", "env"};
    fetch.insert(fetch.end(), source.begin(), source.end());
    EXPECT_EQ(ask_hocket(fetch).out, "X=3\n");
  }
  auto file = must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 10'000));
  must(file.execute("UPDATE promotions SET config = '{\"X\":\"3\"}'"));
  expect_unset({"--store", path_}, "X.: expected an integer from 0 to 1000000");
}

json choice(const std::string& name, const json& words) {
  return {{"name", name}, {"type", "choice"}, {"choices", words}};
}

class HostileDaemon : public HostileSetting {
 protected:
  /// A daemon that answers with `setting` and `declared`, which is left out if it is null.
  static std::unique_ptr<FakeDaemon> answering(const json& setting, const json& declared) {
    const Topology topology = must(probe_topology());
    const json item = {
        {"key", to_string(ConfigKey{fingerprint(topology), fingerprint(Workload{"work", {}})})},
        {"workload", "work"},
        {"topology", "here"},
        {"topology_document", to_json(topology)},
        {"version", 7}};
    json answer = {{"version", 7},
                   {"config", to_json(ScheduleConfig{})},
                   {"origin", "study s"},
                   {"setting", setting}};
    if (!declared.is_null()) answer["declared"] = declared;
    return std::make_unique<FakeDaemon>(
        FakeDaemon::answering([item, answer](const FakeDaemon::Request& request) {
          if (!request.is("GET /v1/configs ")) return http_answer(200, answer.dump());
          return http_answer(200, json{{"configs", {item}}}.dump());
        }));
  }
};

TEST_F(HostileDaemon, SetsNothingThatItDoesNotDeclare) {
  const json none = {{"parameters", json::array()}};
  const json number = {{"parameters", {{{"name", "X"}, {"type", "int"}, {"low", 1}, {"high", 9}}}}};
  const struct {
    json setting, declared;
    const char* why;
  } cases[] = {
      {{{"FOO_FLAG", "1"}}, none, "FOO_FLAG. is not declared"},
      {{{"FOO_FLAG", "1"}}, nullptr, "renew it"},
      {{{"LD_PRELOAD", "x.so"}}, none, "LD_PRELOAD. is not declared"},
      {{{"X", 10}}, number, "expected an integer from 1 to 9"},
      {{{"X", "4"}}, number, "expected an integer from 1 to 9"},
      {{{"X", 4}, {"A=B", 1}}, number, "A=B. is not declared"},
      {{{"X", 4}}, {{"parameters", 7}}, "parameters"},
      {{{"X", 4}}, 7, "declared"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.setting.dump());
    const auto daemon = answering(each.setting, each.declared);
    expect_unset({"--daemon", daemon->url()}, each.why);
  }
}

TEST_F(HostileDaemon, DeclaringItHelpsNothing) {
  const struct {
    const char* name;
    std::string value;
    const char* why;
  } cases[] = {
      {"LD_PRELOAD", "x.so", "--allow-variable LD_PRELOAD"},
      {"BASH_ENV", "x", "--allow-variable BASH_ENV"},
      {"HOCKET_STORE", "x", "a variable of hocket's own"},
      {"BASH_FUNC_x%%", "x", "a name of letters"},
      {"A=B", "x", "a name of letters"},
      {"MODE", "a\nLD_PRELOAD=x", "MODE with a word"},
      {"MODE", "$(touch made)", "MODE with a word"},
      {"MODE", "a LD_PRELOAD=x", "MODE with a word"},
      {"MODE", std::string(1 << 20, 'a'), "MODE with a word"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(std::string(each.name) + "=" + each.value.substr(0, 40));
    const auto daemon = answering({{each.name, each.value}},
                                  {{"parameters", {choice(each.name, {each.value, "other"})}}});
    expect_unset({"--daemon", daemon->url()}, each.why);
  }
}

TEST_F(HostileDaemon, ItsWordsAreNoOptionsAndNoAssignments) {
  for (const char* value : {"-c", "LD_PRELOAD=x"}) {
    const auto daemon =
        answering({{"MODE", value}}, {{"parameters", {choice("MODE", {value, "other"})}}});
    const Words source = {"--workload", "work", "--daemon", daemon->url()};
    Words with = {"with"}, fetch = {"fetch", "--format", "args"};
    for (Words* words : {&with, &fetch}) words->insert(words->end(), source.begin(), source.end());
    const auto args = ask_hocket(fetch);
    EXPECT_EQ(args.out, "");
    EXPECT_THAT(args.err, HasSubstr("--allow-variable MODE"));
    with.insert(with.end(), {"--", "sh", "-c", "{MODE} true"});
    const auto filled = ask_hocket(with);
    EXPECT_EQ(filled.status, 2);
    EXPECT_THAT(filled.err, HasSubstr("--allow-variable MODE"));
  }
}

TEST_F(HostileDaemon, KnobsOfToolsAreSetOnlyAsAFileOfThisHostSays) {
  const std::string combine = "xla.xla_gpu_all_reduce_combine_threshold_bytes";
  const std::string scheduler = "xla.xla_gpu_enable_latency_hiding_scheduler";
  const auto with_value = [](const std::string& name, std::int64_t value) {
    return answering(
        {{name, value}},
        {{"parameters", {{{"name", name}, {"type", "int"}, {"low", 0}, {"high", 1 << 30}}}}});
  };
  const auto unknown = with_value("mine.size", 1);
  expect_unset({"--daemon", unknown->url()}, "mine.size is no knob of any tool");
  const auto misspelt = with_value("xla.xla_dump_to", 1);
  expect_unset({"--daemon", misspelt->url()}, "xla.xla_dump_to is no knob of any tool");
  const auto far = with_value(combine, 7);
  expect_unset({"--daemon", far->url()}, "which is none of the knob's values here");
  const auto word =
      answering({{scheduler, "true"}}, {{"parameters", {choice(scheduler, {"true", "on"})}}});
  expect_unset({"--daemon", word->url()}, "which is none of the knob's values here");
  unsetenv("XLA_FLAGS");
  const auto good = with_value(combine, 2 << 20);
  EXPECT_EXIT(run({"with", "--workload", "work", "--daemon", good->url(), "--", "sh", "-c",
                   "echo \"flags:$XLA_FLAGS.\" >&2; exit 9"}),
              ExitedWithCode(9), "flags:--xla_gpu_all_reduce_combine_threshold_bytes=2097152\\.");
}

TEST_F(HostileDaemon, WhatItDeclaresAndIsPlainIsSet) {
  const auto daemon = answering({{"MODE", "fast"}, {"X", 4}},
                                {{"parameters",
                                  {choice("MODE", {"fast", "slow"}),
                                   {{"name", "X"}, {"type", "int"}, {"low", 1}, {"high", 9}}}}});
  EXPECT_EXIT(run({"with", "--workload", "work", "--daemon", daemon->url(), "--", "sh", "-c",
                   "echo \"env:$X$MODE.{MODE}\" >&2; exit 9"}),
              ExitedWithCode(9), "env:4fast\\.fast");
}

}  // namespace
}  // namespace hocket
