// Tests the client and the daemon together, over loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "client/link/http_client.h"
#include "client/link/http_daemon_link.h"
#include "client/live/live_ballot.h"
#include "client/start/client.h"
#include "core/base/json_reader.h"
#include "tests/client/environment.h"
#include "tests/client/parts_of.h"
#include "tests/daemon/running_daemon.h"
#include "tests/reserved_port.h"

namespace hocket {
namespace {

Topology one_rank() {
  Topology topology;
  topology.link = "local";
  return topology;
}

class ClientAndDaemon : public ::testing::Test {
 protected:
  ClientAndDaemon() { start_daemon(); }

  /// Starts the daemon, or restarts it on the same port with the same store.
  void start_daemon() {
    store_ = must(open_store(folder_.file("store.db")));
    daemon_ = std::make_unique<RunningDaemon>(*store_, port_.port());
  }
  void stop_daemon() {
    daemon_.reset();
    store_.reset();
  }

  FetchedConfig fetch() const {
    return must(ask_for_config(
        topology_, workload_, nullptr,
        environment({{"HOCKET_DAEMON", url_}, {"XDG_CACHE_HOME", folder_.file("cache")}})));
  }

  DaemonAccess access() const {
    return must(daemon_from_environment(environment({{"HOCKET_DAEMON", url_}})));
  }

  HttpResponse send(const std::string& method, const std::string& target,
                    const std::string& body = "") const {
    HttpClient client(access());
    return must(client.send({.method = method, .target = target, .body = body},
                            deadline_after_ns(20'000'000'000)));
  }

  static void read_version(JsonReader& reader, std::int64_t& version) {
    reader.integer("version", version, 1, 1000);
  }

  std::int64_t push(const std::string& key, const ScheduleConfig& config) const {
    const nlohmann::json body = {{"config", to_json(config)}};
    const auto answer = must(read_answer(send("PUT", "/v1/configs/" + key, body.dump())));
    return must(read_json(answer, read_version));
  }

  /// Returns the version released to all jobs.
  std::int64_t released(const std::string& key) const {
    const auto answer = read_answer(send("GET", "/v1/configs/" + key));
    return answer ? must(read_json(*answer, read_version)) : 0;
  }

  const TemporaryFolder folder_;
  const Topology topology_ = one_rank();
  const Workload workload_ = {"work", {{"a", 1 << 20}}};
  const ReservedPort port_;
  const std::string url_ = port_.url();
  std::unique_ptr<Store> store_;
  std::unique_ptr<RunningDaemon> daemon_;
};

/// A job of one rank. Smaller partitions pretend to be faster.
class Job {
 public:
  Job(const FetchedConfig& fetched, const Topology& topology, const Workload& workload,
      const DaemonAccess& daemon)
      : link_(open_daemon_link({.daemon = daemon,
                                .job = {.id = "job-1",
                                        .topology = topology,
                                        .workload = workload,
                                        .config = fetched.config,
                                        .version = fetched.version},
                                .backoff = {.first_ns = 1'000'000, .most_ns = 10'000'000},
                                .report_interval_ns = 20'000'000})),
        live_({.tuning = {.job = "job-1", .config = fetched.config, .version = fetched.version}}, 0,
              1, link_.get(), clock_) {}

  /// Trains until `holds`. Returns false if it does not hold within a minute.
  bool train_until(const std::function<bool(const LiveBallot&)>& holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::vector<float> ballot(live_.size());
    for (; !holds(live_); ++step_) {
      if (std::chrono::steady_clock::now() > limit) return false;
      live_.fill(ballot);
      live_.read(ballot);
      live_.iteration(step_, live_.running().partition_bytes + step_ * 7919 % 13 * 100);
      live_.step_ended();
      std::this_thread::yield();
    }
    return true;
  }

  void finish() { live_.finish(); }

 private:
  const SteadyClock clock_;
  std::unique_ptr<DaemonLink> link_;
  LiveBallot live_;
  std::int64_t step_ = 0;
};

auto keeps(std::int64_t partition_bytes) {
  return [=](const LiveBallot& live) {
    return live.config().partition_bytes == partition_bytes &&
           live.running().partition_bytes == partition_bytes;
  };
}

TEST_F(ClientAndDaemon, AJobIsToldWhatTheEndedSearchOfItsKeyCameTo) {
  EXPECT_EQ(fetch().search, "");
  NewStudy study;
  study.name = "search";
  study.command = {"live", "work"};
  study.owner = kDaemonOwner;
  study.topology_id = must(store_->upsert_topology(topology_));
  study.workload_id = must(store_->upsert_workload(workload_));
  study.origin = StudyOrigin::live;
  const auto row = must(store_->create_study(study));
  EXPECT_EQ(fetch().search, "") << "it goes on";
  must(store_->update_study(row.id, {.state = StudyState::finished}));
  EXPECT_THAT(fetch().search,
              ::testing::MatchesRegex("the search for its key has ended \\(tried 0, "
                                      "kept 0, on [0-9]+-[0-9]+-[0-9]+\\)"));
  EXPECT_EQ(fetch().source, "default");
}

TEST_F(ClientAndDaemon, PushesAreAppliedAndKnownThroughARestartOfTheDaemon) {
  const auto first = fetch();
  EXPECT_EQ(first.source, "default");
  Job job(first, topology_, workload_, access());
  const auto version = push(first.key, parts_of(1 << 20));
  ASSERT_TRUE(job.train_until(keeps(1 << 20)));
  ASSERT_TRUE(job.train_until([&](const auto&) { return released(first.key) == version; }));

  // The daemon is away from the start of the attempt until the job's decision.
  const auto next = push(first.key, parts_of(1 << 18));
  ASSERT_TRUE(job.train_until(
      [](const LiveBallot& live) { return live.running().partition_bytes == 1 << 18; }));
  stop_daemon();
  ASSERT_TRUE(job.train_until(keeps(1 << 18)));
  start_daemon();
  ASSERT_TRUE(job.train_until([&](const auto&) { return released(first.key) == next; }));

  const auto again = fetch();
  EXPECT_EQ(again.source, "daemon");
  EXPECT_EQ(again.config, parts_of(1 << 18));
  EXPECT_EQ(again.version, next);

  // A third version, over the re-established link; it is slower, so it is withdrawn.
  push(first.key, parts_of(8 << 20));
  ASSERT_TRUE(job.train_until(
      [](const LiveBallot& live) { return live.running().partition_bytes == 8 << 20; }));
  ASSERT_TRUE(job.train_until(keeps(1 << 18)));
  ASSERT_TRUE(job.train_until([&](const auto&) {
    return send("GET", "/v1/audit").body.find("withdraw") != std::string::npos;
  }));
  EXPECT_EQ(released(first.key), next);
  job.finish();

  stop_daemon();
  const auto away = fetch();
  EXPECT_EQ(away.source, "last good");
  EXPECT_EQ(away.config, parts_of(1 << 18));
  EXPECT_EQ(away.version, next);
}

}  // namespace
}  // namespace hocket
