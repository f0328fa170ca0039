#include "client/start/daemon_config_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/start/client.h"
#include "core/base/json.h"
#include "core/protocol/config_key.h"
#include "tests/client/environment.h"
#include "tests/client/fake_daemon.h"
#include "tests/core/host/ranks.h"
#include "tests/reserved_port.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const Workload kWorkload{"gpt2", {{"embedding", 1024}}};

std::string key_text() {
  return to_string(ConfigKey{fingerprint(Topology{}), fingerprint(kWorkload)});
}

json exact(int streams) {
  ScheduleConfig config;
  config.streams = streams;
  return {{"key", key_text()},
          {"match", "exact"},
          {"version", 12},
          {"config", to_json(config)},
          {"origin", "study s"}};
}

/// A job's start with a daemon and a cache of its own.
class DaemonFetch : public ::testing::Test {
 protected:
  FetchedConfig fetch(std::string url) {
    LocalGroup group(1);
    auto fetched =
        fetch_config({}, kWorkload, nullptr, *group.join(0),
                     environment({{"HOCKET_DAEMON", url}, {"XDG_CACHE_HOME", folder_.path()}}));
    EXPECT_TRUE(fetched) << fetched.error().message;
    FetchedConfig result;
    if (fetched) result = *fetched;
    return result;
  }
  FetchedConfig fetch_answered(const json& answer, int status = 200) {
    FakeDaemon daemon(FakeDaemon::answering([&](const FakeDaemon::Request& request) {
      EXPECT_TRUE(request.is("POST /v1/resolve "));
      const auto question = parse_object(request.body, "question").value();
      EXPECT_EQ(workload_from_json(question["workload"]).value(), kWorkload);
      EXPECT_EQ(topology_from_json(question["topology"]).value(), Topology{});
      return http_answer(status, answer.dump());
    }));
    return fetch(daemon.url());
  }
  FetchedConfig fetch_away() {
    const ReservedPort port;
    return fetch(port.url());
  }

  TemporaryFolder folder_;
};

TEST_F(DaemonFetch, AnExactMatchIsUsedAndKeptForWhenTheDaemonIsAway) {
  const auto fetched = fetch_answered(exact(3));
  EXPECT_EQ(fetched.config.streams, 3);
  EXPECT_EQ(fetched.source, "daemon");
  EXPECT_EQ(fetched.detail, "study s");
  EXPECT_EQ(fetched.version, 12);
  EXPECT_EQ(fetched.key, key_text());
  EXPECT_THAT(fetched.warnings, ::testing::IsEmpty());

  const auto later = fetch_away();
  EXPECT_EQ(later.config.streams, 3);
  EXPECT_EQ(later.source, "last good");
  EXPECT_EQ(later.version, 12);
  EXPECT_THAT(later.warnings, ::testing::ElementsAre(HasSubstr("Connection refused")));
}

TEST_F(DaemonFetch, WithoutAnExactMatchTheDefaultIsRunAndNothingIsKept) {
  const json nearest = {{"key", key_text()}, {"match", "nearest"}, {"distance", 0.2},
                        {"from", "4 ranks"}, {"version", 3},       {"config", exact(3)["config"]},
                        {"origin", "o"}};
  for (const auto& [answer, detail] :
       {std::pair<json, const char*>{{{"key", key_text()}, {"match", "none"}}, "has nothing for"},
        {nearest, "the nearest that is: 4 ranks"}}) {
    fetch_answered(exact(3));
    const auto fetched = fetch_answered(answer);
    EXPECT_EQ(fetched.config, ScheduleConfig{});
    EXPECT_EQ(fetched.source, "default");
    EXPECT_EQ(fetched.version, 0);
    EXPECT_THAT(fetched.detail, HasSubstr(detail));
    EXPECT_THAT(fetched.warnings, ::testing::IsEmpty());
    EXPECT_EQ(fetch_away().source, "default");
  }
}

TEST_F(DaemonFetch, AnAnswerThatCannotBeUsedMeansTheLastGoodOne) {
  json out_of_range = exact(3), of_another_key = exact(3), unknown = exact(3),
       unversioned = exact(3);
  out_of_range["config"]["streams"] = 65;
  of_another_key["key"] = "x";
  unknown["match"] = "close";
  unversioned["version"] = 0;
  const json error = {{"error", {{"message", "out of order"}}}};
  const std::tuple<json, int, const char*> answers[] = {{out_of_range, 200, "found 65"},
                                                        {of_another_key, 200, "another key"},
                                                        {unknown, 200, "exact, nearest, none"},
                                                        {unversioned, 200, "from 1"},
                                                        {json::array(), 200, "must be a JSON"},
                                                        {error, 500, "500: out of order"},
                                                        {error, 404, "404"}};
  for (const auto& [answer, status, text] : answers) {
    const auto without = fetch_answered(answer, status);
    EXPECT_EQ(without.source, "default");
    EXPECT_EQ(without.config, ScheduleConfig{});
    EXPECT_THAT(without.warnings, ::testing::ElementsAre(HasSubstr(text)));
  }
  fetch_answered(exact(3));
  for (const auto& [answer, status, text] : answers) {
    const auto fetched = fetch_answered(answer, status);
    EXPECT_EQ(fetched.source, "last good");
    EXPECT_EQ(fetched.config.streams, 3);
    EXPECT_THAT(fetched.warnings, ::testing::ElementsAre(HasSubstr(text)));
  }
}

TEST_F(DaemonFetch, ADaemonThatHangsIsNotWaitedForAndABadAddressIsAWarning) {
  fetch_answered(exact(3));
  FakeDaemon hanging([](FakeDaemon::Peer& peer) { peer.wait_until_gone(); });
  const auto fetched = fetch(hanging.url());
  EXPECT_EQ(fetched.source, "last good");
  EXPECT_THAT(fetched.warnings, ::testing::ElementsAre(HasSubstr("did not answer in time")));
  EXPECT_EQ(fetch("nonsense").source, "last good");
}

TEST_F(DaemonFetch, WhatIsKeptIsNotBelievedWhenItIsDamagedAndACacheThatFailsIsAWarning) {
  fetch_answered(exact(3));
  folder_.write("hocket/" + key_text() + ".json", "{}");
  const auto damaged = fetch_away();
  EXPECT_EQ(damaged.source, "default");
  EXPECT_THAT(damaged.warnings, ::testing::ElementsAre(HasSubstr("it is damaged")));

  std::filesystem::remove_all(folder_.file("hocket"));
  folder_.write("hocket", "in the way");
  const auto fetched = fetch_answered(exact(3));
  EXPECT_EQ(fetched.source, "daemon");
  EXPECT_THAT(fetched.warnings, ::testing::ElementsAre(HasSubstr("is not kept")));
}

TEST_F(DaemonFetch, EveryRankLearnsWhatRankZeroFetched) {
  FakeDaemon daemon(
      FakeDaemon::answering([](const auto&) { return http_answer(200, exact(3).dump()); }));
  run_local_ranks(3, [&](int, Collective& collective) {
    const auto fetched = fetch_config({}, kWorkload, nullptr, collective,
                                      environment({{"HOCKET_DAEMON", daemon.url()}}));
    ASSERT_TRUE(fetched) << fetched.error().message;
    EXPECT_EQ(fetched->version, 12);
    EXPECT_EQ(fetched->key, key_text());
    EXPECT_EQ(fetched->config.streams, 3);
  });
  EXPECT_EQ(daemon.connections(), 1);
}

}  // namespace
}  // namespace hocket
