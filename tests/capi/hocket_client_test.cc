#include "capi/hocket_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "store/open.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/own_knob.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class HocketClient : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"HOCKET_CONFIG", "HOCKET_DAEMON", "HOCKET_REPORT", "HOCKET_ITERATIONS"})
      ::unsetenv(name);
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    ::setenv("HOCKET_STORE", store_path_.c_str(), 1);
    options_.size = sizeof options_;
    options_.workload_name = "c";
    options_.tensors = tensors_;
    options_.tensor_count = 2;
    options_.world_size = 2;
    options_.link = "tcp";
    options_.warn = [](const char* message, void* warnings) {
      static_cast<Inbox<std::string>*>(warnings)->add(message);
    };
    options_.context = &warnings_;
  }

  /// Returns the error of opening.
  std::string refusal() const {
    hocket_client* const client = hocket_client_open(&options_);
    EXPECT_EQ(client, nullptr);
    hocket_client_close(client);
    return hocket_error();
  }

  TemporaryFolder folder_;
  const std::string store_path_ = folder_.file("store.db");
  const hocket_tensor tensors_[2] = {{"a", 1024}, {"b", 4096}};
  Inbox<std::string> warnings_;
  hocket_client_options options_ = {};
};

std::int64_t knob(const char* config, const char* name) {
  std::int64_t value = -7;
  hocket_config_get(config, name, &value);
  return value;
}

TEST_F(HocketClient, ATrialRunsByItsConfigurationAndReports) {
  const std::string config =
      R"({"format":"hocket-schedule","version":1,"streams":3,"order":"negotiated"})";
  ::setenv("HOCKET_CONFIG", config.c_str(), 1);
  ::setenv("HOCKET_DAEMON", "http://127.0.0.1:1", 1);  // must not be contacted by a trial
  ::setenv("HOCKET_REPORT", folder_.file("report").c_str(), 1);
  ::setenv("HOCKET_ITERATIONS", folder_.file("iterations").c_str(), 1);
  options_.topology_json = R"({"cpu_model":"x","sockets":1,"numa_nodes":1,"cores":2,
      "hardware_threads":4,"memory_gib":8,"link":"local","world_size":1,"library_versions":{}})";
  hocket_client* const client = hocket_client_open(&options_);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_STREQ(hocket_client_source(client), "trial");
  EXPECT_EQ(hocket_client_version(client), 0);
  const char* const used = hocket_client_config(client);
  EXPECT_EQ(knob(used, "streams"), 3);
  EXPECT_EQ(knob(used, "order"), HOCKET_ORDER_NEGOTIATED);
  EXPECT_EQ(knob(used, "partition_bytes"), 4 << 20);

  const std::int64_t times_ns[] = {5, 6, 0};
  EXPECT_EQ(hocket_client_report(client, times_ns, 3), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("not positive"));
  EXPECT_EQ(hocket_client_report(client, times_ns, 2), 0);
  EXPECT_EQ(hocket_client_report(client, nullptr, 0), 0);
  EXPECT_EQ(read_file(folder_.file("iterations")).value(), "5\n6\n");
  EXPECT_EQ(hocket_client_close(client), 0);
  const auto report = parse_object(read_file(folder_.file("report")).value(), "report").value();
  EXPECT_EQ(report["iterations"].size(), 2u);
  EXPECT_EQ(report["iterations"][1]["wall_ns"], 6);
  EXPECT_FALSE(report["iterations"][1].contains("exposed_ns")) << "it is not known, so it is not 0";
  EXPECT_EQ(report["topology"]["cpu_model"], "x");
  EXPECT_EQ(report["topology"]["world_size"], 2);
  EXPECT_EQ(report["topology"]["link"], "tcp");
  EXPECT_EQ(report["workload"]["tensors"][1], (json{{"name", "b"}, {"bytes", 4096}}));
  EXPECT_EQ(warnings_.size(), 0u);
}

TEST_F(HocketClient, AProgramIsNotGivenWhatItSaysItCannotRun) {
  Inbox<json> questions;
  FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (!request->is("POST /v1/resolve ")) return;
      const auto question = parse_object(request->body, "body").value();
      questions.add(question);
      // As a daemon of an older version answers.
      ScheduleConfig config;
      config.streams = 5;
      const std::string key = fingerprint(topology_from_json(question["topology"]).value()) + "." +
                              fingerprint(workload_from_json(question["workload"]).value());
      peer.write(http_answer(200, json{{"key", key},
                                       {"match", "exact"},
                                       {"version", 7},
                                       {"config", to_json(config)},
                                       {"origin", "push by ada"}}
                                      .dump()));
    }
  });
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  options_.can_run = R"({"start":{"streams":{"high":4}}})";
  hocket_client* const client = hocket_client_open(&options_);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_EQ(questions.wait().value()["can_run"]["start"], (json{{"streams", {{"high", 4}}}}));
  EXPECT_STREQ(hocket_client_source(client), "default");
  EXPECT_EQ(knob(hocket_client_config(client), "streams"), 1);
  EXPECT_EQ(hocket_client_version(client), 0);
  EXPECT_THAT(warnings_.wait().value(), HasSubstr("streams=5: the job can start with at most 4"));
  EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClient, ATrialOfWhatTheProgramCannotRunIsAnError) {
  ::setenv("HOCKET_CONFIG", R"({"format":"hocket-schedule","version":1,"streams":5})", 1);
  options_.can_run = R"({"start":{"streams":{"high":4}}})";
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("HOCKET_CONFIG"), HasSubstr("streams=5")));
  options_.size = offsetof(hocket_client_options, can_run);  // compiled before the member existed
  hocket_client* const client = hocket_client_open(&options_);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClient, WithoutADaemonTheStoresPromotionIsUsed) {
  const auto store = must(open_store(store_path_));
  Topology topology;
  topology.world_size = 2;
  topology.link = "tcp";
  ScheduleConfig config;
  config.streams = 3;
  const auto promote = [&](const json& document) {
    must(store->promote(
        {.topology_id = must(store->upsert_topology(topology)),
         .workload_id = must(store->upsert_workload({"c", {{"a", 1024}, {"b", 4096}}})),
         .config = document,
         .origin = PromotionOrigin::push,
         .actor = "ada"}));
  };
  promote(to_json(config));
  const auto expect_source = [&](const std::string& source, std::int64_t streams) {
    hocket_client* const client = hocket_client_open(&options_);
    ASSERT_NE(client, nullptr) << hocket_error();
    EXPECT_EQ(hocket_client_source(client), source) << hocket_client_detail(client);
    EXPECT_EQ(knob(hocket_client_config(client), "streams"), streams);
    EXPECT_EQ(hocket_client_close(client), 0);
  };
  expect_source("store", 3);
  EXPECT_EQ(warnings_.size(), 0u);
  options_.workload_name = "another";
  expect_source("default", ScheduleConfig{}.streams);
  options_.workload_name = "c";
  promote(json::object());  // back to no configuration
  expect_source("default", ScheduleConfig{}.streams);
  promote(to_json(config));
  // A daemon that is named is asked in place of the store, also when it is away.
  ::setenv("HOCKET_DAEMON", "http://127.0.0.1:1", 1);
  expect_source("default", ScheduleConfig{}.streams);
}

TEST_F(HocketClient, OwnKnobsAreAPartOfTheKeyAndAcceptedOnesAreUsed) {
  const hocket_knob depth = depth_knob(false);
  const hocket_knob* const own_knobs[1] = {&depth};
  options_.own_knobs = own_knobs;
  options_.own_knob_count = 1;
  options_.can_run = R"({"start":{}})";
  options_.accept = refuse_depth_3;
  const auto store = must(open_store(store_path_));
  Topology topology;
  topology.world_size = 2;
  topology.link = "tcp";
  Workload workload{"c", {{"a", 1024}, {"b", 4096}}};
  const auto promote = [&](std::optional<std::int64_t> value) {
    ScheduleConfig config;
    if (value) config.job["depth"] = *value;
    must(store->promote({.topology_id = must(store->upsert_topology(topology)),
                         .workload_id = must(store->upsert_workload(workload)),
                         .config = to_json(config),
                         .origin = PromotionOrigin::push,
                         .actor = "ada"}));
  };
  const auto depth_of = [&] {
    hocket_client* const client = hocket_client_open(&options_);
    EXPECT_NE(client, nullptr) << hocket_error();
    std::int64_t value = -7;
    EXPECT_EQ(hocket_client_get(client, "job.depth", &value), 0) << hocket_error();
    EXPECT_EQ(hocket_client_close(client), 0);
    return value;
  };
  promote(std::nullopt);
  EXPECT_EQ(depth_of(), 1) << "it was promoted for a workload without the knob";
  workload.knobs = {{.name = "depth", .low = 0, .high = 4, .default_value = std::int64_t{1}}};
  promote(2);
  EXPECT_EQ(depth_of(), 2);
  EXPECT_EQ(warnings_.size(), 0U);
  promote(3);
  EXPECT_EQ(depth_of(), 1);
  EXPECT_THAT(warnings_.wait().value(), HasSubstr("no memory for 3"));
  ::setenv("HOCKET_CONFIG", R"({"format":"hocket-schedule","version":1,"job":{"depth":4}})", 1);
  EXPECT_EQ(depth_of(), 4);
  ::setenv("HOCKET_CONFIG", R"({"format":"hocket-schedule","version":1,"streams":2})", 1);
  EXPECT_THAT(refusal(), HasSubstr("the job does not have streams; it has job.depth"));
}

TEST_F(HocketClient, TraitsAreAPartOfTheKey) {
  const auto key = [&](const char* traits) {
    options_.traits = traits;
    hocket_client* const client = hocket_client_open(&options_);
    EXPECT_NE(client, nullptr) << hocket_error();
    const std::string text = hocket_client_key(client);
    EXPECT_EQ(hocket_client_close(client), 0);
    return text;
  };
  const std::string none = key(nullptr), adam = key(R"({"optimizer":"AdamW"})");
  EXPECT_NE(adam, none);
  EXPECT_NE(key(R"({"optimizer":"SGD"})"), adam);
  EXPECT_EQ(key("{}"), none) << "what was stored for a program without them is found";
  // A program compiled before the member existed, with other data behind its structure.
  options_.size = offsetof(hocket_client_options, traits);
  EXPECT_EQ(key(R"({"optimizer":"AdamW"})"), none);
  options_.size = sizeof options_;
  options_.traits = R"({"optimizer":3})";
  EXPECT_THAT(refusal(), HasSubstr("traits.optimizer"));
  options_.traits = "AdamW";
  EXPECT_THAT(refusal(), HasSubstr("traits"));
}

TEST_F(HocketClient, WhetherADaemonTakesPartIsSaidWithTheReason) {
  const auto standing = [&](const char* address) {
    if (address != nullptr) ::setenv("HOCKET_DAEMON", address, 1);
    hocket_client* const client = hocket_client_open(&options_);
    EXPECT_NE(client, nullptr) << hocket_error();
    const char* why = nullptr;
    int state = hocket_client_daemon(client, &why);
    while (state == HOCKET_DAEMON_ASKED) state = hocket_client_daemon(client, &why);
    std::pair said(state, std::string(why));
    EXPECT_EQ(hocket_client_daemon(client, nullptr), state);
    EXPECT_EQ(hocket_client_close(client), 0);
    return said;
  };
  EXPECT_EQ(standing(nullptr),
            std::pair(HOCKET_DAEMON_NONE, std::string("HOCKET_DAEMON is not set")));
  const auto [state, why] = standing("127.0.0.1:7077");
  EXPECT_EQ(state, HOCKET_DAEMON_NONE);
  EXPECT_THAT(why, HasSubstr("HOCKET_DAEMON: the daemon's address must be http://HOST:PORT"));
  const auto [away, refused] = standing("http://127.0.0.1:1");
  EXPECT_EQ(away, HOCKET_DAEMON_AWAY);
  EXPECT_THAT(refused, HasSubstr("Connection refused"));
  FakeDaemon strict([](FakeDaemon::Peer& peer) {
    while (peer.read()) peer.write(http_answer(401, R"({"error":{"message":"no \u001b token"}})"));
  });
  const auto [barred, unauthorized] = standing(strict.url().c_str());
  EXPECT_EQ(barred, HOCKET_DAEMON_AWAY);
  EXPECT_THAT(unauthorized, AllOf(HasSubstr(" token"), Not(HasSubstr("\x1b"))));
  ::setenv("HOCKET_CONFIG", R"({"format":"hocket-schedule","version":1})", 1);
  EXPECT_EQ(standing("http://127.0.0.1:1"),
            std::pair(HOCKET_DAEMON_NONE, std::string("the program is a study's trial")));
  EXPECT_EQ(hocket_client_daemon(nullptr, nullptr), -1);
}

TEST_F(HocketClient, AReportThatCannotBeWrittenIsAnError) {
  ::setenv("HOCKET_REPORT", "/no/such/folder/report", 1);
  hocket_client* const client = hocket_client_open(&options_);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_EQ(hocket_client_close(client), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("HOCKET_REPORT"));
}

TEST_F(HocketClient, ADaemonIsAskedAndToldAndItsChangesAreRefused) {
  Inbox<json> jobs, reports;
  FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->is("GET /v1/watch?")) {
        peer.write(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
            "event: candidate\ndata: {\"trial\":4,\"config\":{\"format\":"
            "\"hocket-schedule\",\"version\":1}}\n\n");
        return peer.wait_until_gone();
      }
      const auto body = parse_object(request->body, "body").value();
      if (request->is("POST /v1/resolve ")) {
        peer.write(http_answer(500, "{}"));
      } else if (request->is("POST /v1/jobs ")) {
        jobs.add(body);
        const std::string uuid = "00000000-0000-5000-8000-000000000000";
        peer.write(http_answer(200, json{{"key", uuid + "." + uuid}}.dump()));
      } else {
        reports.add(body);
        peer.write(http_answer(200, "{}"));
      }
    }
  });
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  hocket_client* const client = hocket_client_open(&options_);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_STREQ(hocket_client_source(client), "default");
  EXPECT_EQ(std::strlen(hocket_client_key(client)), 73u);
  EXPECT_THAT(warnings_.wait().value(), HasSubstr("answered 500"));
  const auto job = jobs.wait().value();
  EXPECT_EQ(job["workload"]["name"], "c");
  EXPECT_EQ(job["knobs"], json::array());
  EXPECT_EQ(job["can_run"], (json{{"running", json::object()}}));

  // Waits until the candidate is rejected; reports may arrive before that.
  const std::int64_t times_ns[] = {5, 6};
  json refused;
  std::int64_t step = 0;
  while (refused.is_null()) {
    ASSERT_EQ(hocket_client_report(client, times_ns, 2), 0);
    const auto report = reports.wait().value();
    EXPECT_EQ(report["job"], job["id"]);
    EXPECT_GT(report["step"], step);
    step = report["step"];
    EXPECT_EQ(report["iteration_ns"][1], 6);
    if (!report["outcomes"].empty()) refused = report["outcomes"][0];
  }
  EXPECT_EQ(refused["trial"], 4);
  EXPECT_EQ(refused["status"], "rejected");
  EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClient, OptionsThatAreWrongAreRefusedWithAReason) {
  EXPECT_EQ(hocket_client_open(nullptr), nullptr);
  options_.size -= 1;
  EXPECT_THAT(refusal(), HasSubstr("options->size"));
  options_.size = offsetof(hocket_client_options, on_profile) + 1;
  EXPECT_THAT(refusal(), HasSubstr("options->size"));
  // A program compiled before on_profile existed, with other data behind its structure.
  options_.size = offsetof(hocket_client_options, on_profile);
  std::memset(&options_.on_profile, 0xff, sizeof options_.on_profile);
  hocket_client* const older = hocket_client_open(&options_);
  ASSERT_NE(older, nullptr) << hocket_error();
  EXPECT_EQ(hocket_client_close(older), 0);
  options_.on_profile = nullptr;
  options_.size = sizeof options_;
  options_.workload_name = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("workload_name"));
  options_.workload_name = "c";
  options_.world_size = -1;
  EXPECT_THAT(refusal(), HasSubstr("world_size"));
  options_.world_size = 1;
  options_.topology_json = "{";
  EXPECT_THAT(refusal(), HasSubstr("topology_json is not valid JSON"));
  options_.topology_json = nullptr;
  options_.tensors = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("without tensors"));
  const hocket_tensor nameless = {nullptr, 1}, negative = {"a", -1};
  options_.tensor_count = 1;
  options_.tensors = &nameless;
  EXPECT_THAT(refusal(), HasSubstr("no name"));
  options_.tensors = &negative;
  EXPECT_THAT(refusal(), HasSubstr("tensors[0].bytes\""));
  options_.tensor_count = 0;
  for (const std::int64_t rank : {-1, 1}) {
    options_.rank = rank;
    EXPECT_THAT(refusal(), HasSubstr("rank must be from 0 to 0"));
  }
  options_.world_size = 2;
  EXPECT_THAT(refusal(), HasSubstr("config_json must be rank 0's"));
  options_.config_json = "{}";
  EXPECT_THAT(refusal(), HasSubstr("config_json"));
  options_.rank = 0;
  for (const double share : {-0.01, 0.51, std::nan("")}) {
    options_.explore = share;
    EXPECT_THAT(refusal(), HasSubstr("explore must be from 0 to 0.5"));
  }
  options_.explore = 0;
  const char* const unknown[] = {"credit_bytes", "cred"};
  const char* const null[] = {nullptr};
  options_.knob_count = 2;
  EXPECT_THAT(refusal(), HasSubstr("knob_count without knobs"));
  options_.knobs = unknown;
  EXPECT_THAT(refusal(), HasSubstr("no knob is named \"cred\""));
  options_.knobs = null;
  options_.knob_count = 1;
  EXPECT_THAT(refusal(), HasSubstr("a knob has no name"));
  options_.knob_count = 0;
  options_.can_run = R"({"start":{"stream":{}}})";
  EXPECT_THAT(refusal(), HasSubstr("can_run: "));
  options_.can_run = R"({"running":{"order":["static"]}})";
  EXPECT_THAT(refusal(), HasSubstr("order=static"));
  options_.can_run = nullptr;
  ::setenv("HOCKET_CONFIG", "{}", 1);
  EXPECT_THAT(refusal(), HasSubstr("HOCKET_CONFIG"));
}

TEST_F(HocketClient, AKnobThatIsNotThereIsAnError) {
  const char* const config = R"({"format":"hocket-schedule","version":1})";
  EXPECT_EQ(knob(config, "streams"), 1);
  EXPECT_EQ(knob(config, "order"), HOCKET_ORDER_FIFO);
  EXPECT_EQ(knob(config, "stream"), -7);
  EXPECT_THAT(hocket_error(), HasSubstr("no knob is named \"stream\"; the nearest is streams"));
  EXPECT_EQ(knob("{", "streams"), -7);
  // Each choice has a value of its own, whether it is written or has its default.
  const char* const partitioned =
      R"({"format":"hocket-schedule","version":1,"primitive":"reduce_scatter_all_gather"})";
  EXPECT_EQ(knob(partitioned, "primitive"), 1);
  EXPECT_EQ(knob(partitioned, "launch"), 0);
  EXPECT_EQ(knob(partitioned, "bucket_bytes"), 0);
  EXPECT_EQ(knob(partitioned, "regions.x.compute_parts"), 1);
  EXPECT_EQ(hocket_config_get(config, "streams", nullptr), -1);
  EXPECT_EQ(hocket_config_get(nullptr, "streams", nullptr), -1);
}

TEST(HocketClientAbi, TheLibraryShowsWhatTheHeadersDeclareAndNothingElse) {
  EXPECT_EQ(hocket_client_abi(), HOCKET_CLIENT_ABI);
  EXPECT_THAT(hocket_client_library_version(), ::testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  FILE* const names = ::popen("nm -D --defined-only '" HOCKET_CLIENT_LIBRARY "'", "r");
  ASSERT_NE(names, nullptr);
  std::string text;
  for (int c = 0; (c = ::fgetc(names)) != EOF;) text += static_cast<char>(c);
  ASSERT_EQ(::pclose(names), 0);
  std::set<std::string> shown;
  std::istringstream lines(text);
  for (std::string address, kind, name; lines >> address >> kind >> name;) shown.insert(name);
  std::set<std::string> declared = {"HOCKET_CLIENT_1"};
  for (const char* name : {"hocket_ballot_fill",
                           "hocket_ballot_read",
                           "hocket_ballot_size",
                           "hocket_client_abi",
                           "hocket_client_close",
                           "hocket_client_config",
                           "hocket_client_daemon",
                           "hocket_client_detail",
                           "hocket_client_get",
                           "hocket_client_host",
                           "hocket_client_is_trying",
                           "hocket_client_key",
                           "hocket_client_library_version",
                           "hocket_client_measured",
                           "hocket_client_open",
                           "hocket_client_progress",
                           "hocket_client_report",
                           "hocket_client_save_traces",
                           "hocket_client_search",
                           "hocket_client_source",
                           "hocket_client_version",
                           "hocket_config_get",
                           "hocket_error",
                           "hocket_iteration",
                           "hocket_meeting_find",
                           "hocket_meeting_publish",
                           "hocket_program_step",
                           "hocket_ranks_counted",
                           "hocket_step_counted",
                           "hocket_step_ended",
                           "hocket_schedule_add",
                           "hocket_schedule_close",
                           "hocket_schedule_end_step",
                           "hocket_schedule_enqueue",
                           "hocket_schedule_fail",
                           "hocket_schedule_next",
                           "hocket_schedule_notify_finish",
                           "hocket_schedule_notify_ready",
                           "hocket_schedule_open",
                           "hocket_schedule_reconfigure",
                           "hocket_schedule_record",
                           "hocket_schedule_recorded_step",
                           "hocket_schedule_save_profile",
                           "hocket_schedule_stop",
                           "hocket_schedule_wait"})
    declared.insert(std::string(name) + "@@HOCKET_CLIENT_1");
  EXPECT_EQ(shown, declared);
}

}  // namespace
}  // namespace hocket
