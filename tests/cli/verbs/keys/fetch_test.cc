// Tests hocket fetch from a daemon; for a store see version_view_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "archive/promotions/rollback.h"
#include "cli/application.h"
#include "cli/base/context.h"
#include "core/host/topology_probe.h"
#include "core/protocol/config_key.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "tests/cli/answer.h"
#include "tests/client/fake_daemon.h"
#include "tests/daemon/running_daemon.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Workload kWorkload{"work", {}};

class FetchFromDaemon : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("HOCKET_DAEMON"); }
  void TearDown() override { ::unsetenv("HOCKET_DAEMON"); }

  std::int64_t promote(int world_size, std::int64_t partition_bytes) {
    topology_.world_size = world_size;
    ScheduleConfig config;
    config.partition_bytes = partition_bytes;
    return must(store_->promote({.topology_id = must(store_->upsert_topology(topology_)),
                                 .workload_id = must(store_->upsert_workload(kWorkload)),
                                 .config = to_json(config),
                                 .origin = PromotionOrigin::push,
                                 .stage = PromotionStage::released,
                                 .actor = "ada"}))
        .id;
  }

  /// Returns what a daemon does that lists `item` and answers `config` to everything else.
  static std::function<void(FakeDaemon::Peer&)> listing(const nlohmann::json& item,
                                                        const std::string& config) {
    return FakeDaemon::answering([item, config](const FakeDaemon::Request& request) {
      if (!request.is("GET /v1/configs ")) return http_answer(200, config);
      return http_answer(200, nlohmann::json{{"configs", {item}}}.dump());
    });
  }

  static Answer fetch(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"fetch", "--workload", "work"});
    return ask_hocket(arguments);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  std::unique_ptr<Store> store_ = must(open_store(path_));
  Topology topology_ = must(probe_topology());
};

TEST_F(FetchFromDaemon, GivesWhatTheStoreGives) {
  promote(1, 8192);
  const auto version = promote(2, 16384);
  const RunningDaemon daemon(*store_);
  for (const char* ranks : {"1", "2"}) {
    const auto stored = fetch({"--world-size", ranks, "--store", path_});
    const auto asked = fetch({"--world-size", ranks, "--daemon", daemon.url()});
    EXPECT_EQ(asked.status, kDone) << asked.err;
    EXPECT_EQ(asked.out, stored.out);
    EXPECT_THAT(asked.err, AllOf(HasSubstr("push by ada, 20"), HasSubstr("for work on ")));
  }
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  const auto text = fetch({"--world-size", "2", "--json"});
  const auto document = nlohmann::json::parse(text.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << text.out << text.err;
  EXPECT_EQ(document["version"], version);
  EXPECT_EQ(document["config"]["partition_bytes"], 16384);
  EXPECT_EQ(document["workload"]["fingerprint"], fingerprint(kWorkload));
  EXPECT_EQ(document["topology"]["name"], readable_name(topology_));
  EXPECT_EQ(fetch({}).status, kBadInput);
  EXPECT_THAT(fetch({"--world-size", "3"}).err, HasSubstr("--topology"));
}

TEST_F(FetchFromDaemon, ADaemonThatIsAwayOrWrongIsAnErrorAndTheStoreIsReadWhenItIsNamed) {
  promote(1, 8192);
  const std::string key = to_string(ConfigKey{fingerprint(topology_), fingerprint(Workload{})});
  const nlohmann::json item = {{"key", key},
                               {"workload", "work"},
                               {"topology", readable_name(topology_)},
                               {"topology_document", to_json(topology_)},
                               {"version", 1}};
  const auto saying = [&](const std::string& config) { return listing(item, config); };
  const FakeDaemon empty(saying("{}"));
  const FakeDaemon wrong(
      saying(R"({"config":{"format":"hocket-schedule","version":1,"streams":65}})"));
  const FakeDaemon garbage([](FakeDaemon::Peer& peer) {
    if (peer.read()) peer.write("garbage\r\n\r\n");
  });
  const auto refuses = [](const std::string& url, const char* why) {
    const auto answer = fetch({"--daemon", url});
    EXPECT_NE(answer.status, kDone);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(why));
  };
  refuses("http://127.0.0.1:1", "daemon http://127.0.0.1:1");
  refuses("nonsense", "nonsense");
  refuses(garbage.url(), garbage.url().c_str());
  refuses(empty.url(), "config");
  refuses(wrong.url(), "streams");
  ::setenv("HOCKET_DAEMON", "http://127.0.0.1:1", 1);
  EXPECT_NE(fetch({}).status, kDone);
  EXPECT_EQ(fetch({"--store", path_}).status, kDone);
  EXPECT_THAT(fetch({"--store", path_, "--daemon", wrong.url()}).err, HasSubstr("--store"));
}

TEST_F(FetchFromDaemon, WhatAnOlderDaemonDoesNotSayIsNotGuessed) {
  const ConfigKey key{fingerprint(topology_), fingerprint(kWorkload)};
  nlohmann::json item = {{"key", to_string(key)},
                         {"workload", "work"},
                         {"topology", readable_name(topology_)},
                         {"version", 3}};
  const std::string config = nlohmann::json{
      {"version", 3},
      {"config", to_json(ScheduleConfig{})},
      {"origin", "push by ada"}}.dump();
  const FakeDaemon older(listing(item, config));
  const auto refused = fetch({"--daemon", older.url()});
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.status, kDone);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(older.url()), HasSubstr("daemon is older"),
                                 HasSubstr("--topology " + key.topology.substr(0, 8))));
  const auto exact = fetch({"--daemon", older.url(), "--topology", key.topology.substr(0, 8)});
  EXPECT_EQ(exact.status, kDone) << exact.err;
  EXPECT_THAT(exact.out, HasSubstr("partition_bytes"));
  item["topology_document"] = "garbage\n";
  const FakeDaemon garbage(listing(item, config));
  EXPECT_THAT(fetch({"--daemon", garbage.url()}).err, HasSubstr("cannot read"));
}

TEST_F(FetchFromDaemon, SaysThatAKeyWentBackToItsDefault) {
  promote(1, 8192);
  must(roll_back(*store_, {fingerprint(topology_), fingerprint(kWorkload)}, NoConfiguration{},
                 "ada", "too slow"));
  const RunningDaemon daemon(*store_);
  const auto answer = fetch({"--daemon", daemon.url()});
  EXPECT_NE(answer.status, kDone);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("no configuration for work any more"), HasSubstr("by ada")));
}

}  // namespace
}  // namespace hocket
