// Tunes running programs through capi/hocket_client.h, with loops that have collectives
// of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "capi/hocket_client.h"
#include "core/base/json.h"
#include "core/protocol/job_message.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/own_knob.h"
#include "tests/client/parts_of.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRanks = 2;
constexpr std::int64_t kFast = 1 << 20, kFaster = 1 << 19;

/// Sums over the ranks, which are threads.
class Summation {
 public:
  void add_up(int rank, std::vector<float>& values) {
    values_[static_cast<std::size_t>(rank)] = values;
    all_.arrive_and_wait();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = values_[0][i] + values_[1][i];
    all_.arrive_and_wait();
  }

 private:
  std::barrier<> all_{kRanks};
  std::array<std::vector<float>, kRanks> values_;
};

/// Sends messages one at a time, the next once the job has reported the outcome of the last. Jobs
/// report no outcome for profiles.
class PushingDaemon {
 public:
  explicit PushingDaemon(std::vector<DaemonMessage> messages)
      : messages_(std::move(messages)), daemon_([this](FakeDaemon::Peer& peer) { serve(peer); }) {}

  std::string url() const { return daemon_.url(); }
  bool is_done() const { return outcomes_of_all_; }

  Inbox<json> jobs, outcomes, counted;

 private:
  void serve(FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->is("GET /v1/watch?")) {
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        for (const auto& message : messages_) {
          peer.write("event: " + std::string(type_of(message)) +
                     "\ndata: " + to_json(message).dump() + "\n\n");
          if (!std::holds_alternative<ProfileMessage>(message) && !decided_.wait()) return;
        }
        outcomes_of_all_ = true;
        return peer.wait_until_gone();
      }
      peer.write(answer(*request));
    }
  }

  std::string answer(const FakeDaemon::Request& request) {
    if (request.is("POST /v1/resolve ")) return http_answer(500, "{}");
    const auto body = parse_object(request.body, "body").value();
    if (request.is("POST /v1/jobs ")) {
      jobs.add(body);
      const std::string uuid = "00000000-0000-5000-8000-000000000000";
      return http_answer(200, json{{"key", uuid + "." + uuid}}.dump());
    }
    EXPECT_TRUE(job_report_from_json(body));
    for (const auto& each : body.value("counted", json::array())) counted.add(each);
    for (const auto& outcome : body["outcomes"]) {
      outcomes.add(outcome);
      decided_.add(1);
    }
    return http_answer(200, "{}");
  }

  const std::vector<DaemonMessage> messages_;
  Inbox<int> decided_;
  std::atomic<bool> outcomes_of_all_ = false;
  FakeDaemon daemon_;
};

std::int64_t partition_of(const hocket_client* client) {
  std::int64_t bytes = 0;
  EXPECT_EQ(hocket_config_get(hocket_client_config(client), "partition_bytes", &bytes), 0);
  return bytes;
}

/// Steps of the program that share a ballot, which are one of the library's.
constexpr std::int64_t kStepsOfABallot = 1000;

/// Steps before which a rank changed, each with the new partition size.
using Changes = std::vector<std::pair<std::int64_t, std::int64_t>>;

class HocketClientLive : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"HOCKET_CONFIG", "HOCKET_DAEMON", "HOCKET_REPORT", "HOCKET_ITERATIONS"})
      ::unsetenv(name);
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    ::setenv("HOCKET_STORE", folder_.file("store.db").c_str(), 1);
    options_.size = sizeof options_;
    options_.workload_name = "c";
    options_.world_size = kRanks;
    options_.knobs = knobs_;
    options_.knob_count = 2;
    options_.explore = 0.5;
  }

  hocket_client* open(std::int64_t rank = 0, const char* config = nullptr) const {
    hocket_client_options options = options_;
    options.rank = rank;
    options.config_json = config;
    hocket_client* const client = hocket_client_open(&options);
    EXPECT_NE(client, nullptr) << hocket_error();
    return client;
  }

  /// Runs a rank's training loop. `is_late` reads a ballot only before it fills the next.
  static Changes train(hocket_client* client, int rank, bool is_late, Summation& ranks,
                       const std::function<bool()>& ends) {
    Changes changes;
    const auto size = hocket_ballot_size(client);
    std::vector<float> ballot(size + 1), sum;
    for (std::int64_t step = 0;; ++step) {
      if (is_late && step > 0) {
        EXPECT_EQ(hocket_ballot_read(client, sum.data()), 0);
      }
      EXPECT_EQ(hocket_ballot_fill(client, ballot.data()), 0) << hocket_error();
      ballot[size] = rank == 0 && ends() ? 1 : 0;
      ranks.add_up(rank, ballot);
      sum = ballot;
      if (!is_late) {
        EXPECT_EQ(hocket_ballot_read(client, sum.data()), 0);
      }
      EXPECT_EQ(hocket_program_step(client, (step + 1) * kStepsOfABallot), 0) << hocket_error();
      // Simulated times, so that no test depends on the machine.
      const auto partition = partition_of(client);
      const std::int64_t usual_ns = partition == kFaster ? 600'000
                                    : partition == kFast ? 800'000
                                                         : 1'000'000;
      EXPECT_EQ(hocket_iteration(client, step, usual_ns + step * 7919 % 13 * 1000), 0);
      const int changed = hocket_step_ended(client);
      EXPECT_GE(changed, 0) << hocket_error();
      if (changed == 1) changes.emplace_back(step + 1, partition_of(client));
      if (sum[size] > 0) return changes;
    }
  }

  /// Trains on all ranks until the daemon has all outcomes; returns the changes of each rank.
  static std::array<Changes, kRanks> train_all(const std::array<hocket_client*, kRanks>& clients,
                                               const PushingDaemon& daemon) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    // The last verdict takes a few more steps to reach the ranks.
    const auto ends = [&, left = 8]() mutable {
      if (daemon.is_done()) --left;
      return left == 0 || std::chrono::steady_clock::now() > limit;
    };
    Summation ranks;
    std::array<Changes, kRanks> changes;
    std::thread other([&] { changes[1] = train(clients[1], 1, true, ranks, ends); });
    changes[0] = train(clients[0], 0, false, ranks, ends);
    other.join();
    return changes;
  }

  TemporaryFolder folder_;
  const char* const knobs_[2] = {"partition_bytes", "credit_bytes"};
  hocket_client_options options_ = {};
};

TEST_F(HocketClientLive, BothRanksAreToldOfTheSameStepsToProfile) {
  // The candidate waits for the profile.
  PushingDaemon daemon({ProfileMessage{1, 3}, CandidateMessage{5, parts_of(kFast)}});
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  using Profiles = std::vector<std::pair<std::int64_t, std::int64_t>>;
  std::array<Profiles, kRanks> told;
  options_.on_profile = [](std::int64_t first_step, std::int64_t steps, void* context) {
    static_cast<Profiles*>(context)->emplace_back(first_step, steps);
  };
  options_.context = &told[0];
  hocket_client* const first = open();
  options_.context = &told[1];
  const std::array clients = {first, open(1, hocket_client_config(first))};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto ends = [&] { return daemon.is_done() || std::chrono::steady_clock::now() > limit; };
  Summation ranks;
  std::thread other([&] { train(clients[1], 1, true, ranks, ends); });
  train(clients[0], 0, false, ranks, ends);
  other.join();
  ASSERT_EQ(told[0].size(), 1u);
  EXPECT_EQ(told[0][0].second, 3);
  EXPECT_EQ(told[0], told[1]);
  for (auto* client : clients) EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClientLive, PushesAndCandidatesReachBothRanksAtOneStep) {
  ScheduleConfig other_knob = parts_of(kFast);
  other_knob.streams = 2;
  PushingDaemon daemon({ConfigMessage{3, parts_of(kFast), ""}, ConfigMessage{4, other_knob, ""},
                        CandidateMessage{5, parts_of(kFaster)}});
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  Inbox<std::string> lines;
  options_.say = [](const char* line, void* said) {
    static_cast<Inbox<std::string>*>(said)->add(line);
  };
  options_.context = &lines;
  hocket_client* const first = open();
  const std::array clients = {first, open(1, hocket_client_config(first))};
  EXPECT_STREQ(hocket_client_source(clients[1]), "rank 0");
  EXPECT_STREQ(hocket_client_progress(first), "{}") << "no iteration time is known";
  EXPECT_EQ(hocket_program_step(first, -1), -1);
  const auto changes = train_all(clients, daemon);

  const char* why = nullptr;
  EXPECT_EQ(hocket_client_daemon(first, &why), HOCKET_DAEMON_KNOWS);
  EXPECT_STREQ(why, "");
  const auto progress = parse_object(hocket_client_progress(first), "progress").value();
  EXPECT_EQ(progress["tried"], 2) << progress;
  EXPECT_EQ(progress["kept"], 2) << progress;
  EXPECT_EQ(progress["step"].get<std::int64_t>() % kStepsOfABallot, 0) << progress;
  EXPECT_NEAR(progress["iteration_ns"].get<double>(), 606'000, 12'000);
  EXPECT_EQ(changes[0], changes[1]);
  ASSERT_GE(changes[0].size(), 2u) << "there, there";
  EXPECT_EQ(changes[0].back().second, kFaster);
  EXPECT_STREQ(hocket_client_config(clients[0]), hocket_client_config(clients[1]));
  const auto job = daemon.jobs.wait().value();
  EXPECT_EQ(job["knobs"], (json{"partition_bytes", "credit_bytes"}));
  EXPECT_EQ(job["explore"], 0.5);
  const auto pushed = daemon.outcomes.wait().value(), refused = daemon.outcomes.wait().value(),
             tried = daemon.outcomes.wait().value();
  EXPECT_EQ(pushed["version"], 3);
  EXPECT_EQ(pushed["status"], "applied") << pushed;
  EXPECT_EQ(refused["version"], 4);
  EXPECT_EQ(refused["status"], "rejected");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("cannot change streams"));
  EXPECT_EQ(tried["trial"], 5);
  EXPECT_EQ(tried["status"], "applied") << tried;
  EXPECT_TRUE(lines.wait([](const auto& line) { return line.find("000: trying trial 5") < 99; }));
  for (hocket_client* const client : clients) EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClientLive, OwnKnobsArePushedTriedAndRefusedLikeOthers) {
  const auto own = [](std::int64_t depth, const char* mode) {
    ScheduleConfig config = parts_of(kFast);
    config.job = {{"depth", depth}, {"mode", mode}};
    return config;
  };
  ScheduleConfig without = parts_of(kFaster);
  PushingDaemon daemon({ConfigMessage{3, own(2, "b"), ""}, ConfigMessage{4, own(9, "a"), ""},
                        ConfigMessage{5, own(3, "a"), ""}, CandidateMessage{6, without}});
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  const char* const modes[2] = {"a", "b"};
  const hocket_knob depth = depth_knob(true);
  hocket_knob mode = {};
  mode.size = sizeof mode;
  mode.name = "mode";
  mode.choices = modes;
  mode.choice_count = 2;
  mode.running = 1;
  const hocket_knob* const own_knobs[2] = {&depth, &mode};
  options_.own_knobs = own_knobs;
  options_.own_knob_count = 2;
  options_.accept = [](const char* config, char* reason, std::size_t bytes, void* context) {
    // Rank 1 has no memory for a depth of 3.
    return context == nullptr ? 0 : refuse_depth_3(config, reason, bytes, context);
  };
  hocket_client* const first = open();
  Inbox<std::string> warnings;
  options_.context = &warnings;
  options_.warn = [](const char* message, void* context) {
    static_cast<Inbox<std::string>*>(context)->add(message);
  };
  const std::array clients = {first, open(1, hocket_client_config(first))};
  const auto value = [&](std::size_t rank, const char* name) {
    std::int64_t number = -7;
    EXPECT_EQ(hocket_client_get(clients[rank], name, &number), 0) << hocket_error();
    return number;
  };
  EXPECT_EQ(value(0, "job.depth"), 1);
  EXPECT_EQ(value(1, "job.mode"), 0);
  EXPECT_EQ(value(1, "streams"), 1);
  std::int64_t ignored = 0;
  EXPECT_EQ(hocket_client_get(first, "job.other", &ignored), -1);

  const auto changes = train_all(clients, daemon);
  EXPECT_EQ(changes[0], changes[1]);
  const auto job = daemon.jobs.wait().value();
  EXPECT_EQ(job["knobs"], (json{"partition_bytes", "credit_bytes", "job.depth", "job.mode"}));
  EXPECT_EQ(job["workload"]["knobs"].size(), 2U);
  EXPECT_EQ(job["config"]["job"], (json{{"depth", 1}, {"mode", "a"}}));
  const auto pushed = daemon.outcomes.wait().value(), out_of_range = daemon.outcomes.wait().value(),
             refused = daemon.outcomes.wait().value(), tried = daemon.outcomes.wait().value();
  EXPECT_EQ(pushed["status"], "applied") << pushed;
  EXPECT_THAT(out_of_range["message"].get<std::string>(), HasSubstr("job.depth"));
  EXPECT_EQ(out_of_range["status"], "rejected");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("rank 1 refused it"));
  EXPECT_THAT(warnings.wait().value(), HasSubstr("no memory for 3"));
  EXPECT_EQ(tried["status"], "applied") << tried;
  // Knobs that the candidate leaves out have their defaults.
  for (const std::size_t rank : {0, 1}) {
    EXPECT_EQ(value(rank, "job.depth"), 1);
    EXPECT_EQ(value(rank, "job.mode"), 0);
    EXPECT_EQ(hocket_client_close(clients[rank]), 0);
  }
}

TEST_F(HocketClientLive, AProgramThatDecidesAloneChangesWithTheNextStep) {
  PushingDaemon daemon(
      {ConfigMessage{3, parts_of(kFast), ""}, CandidateMessage{5, parts_of(kFaster)}});
  ::setenv("HOCKET_DAEMON", daemon.url().c_str(), 1);
  struct Asked {
    int times = 0;
    bool may = false;
  } asked;
  options_.world_size = 16;
  options_.decides_alone = 1;
  options_.context = &asked;
  options_.may_try = [](void* context) {
    ++static_cast<Asked*>(context)->times;
    return static_cast<Asked*>(context)->may ? 1 : 0;
  };
  options_.predictions =
      R"([{"config":{"format":"hocket-schedule","version":1,"streams":2},"iteration_ns":5}])";
  hocket_client* const client = open();
  EXPECT_EQ(hocket_ballot_size(client), 0u);
  float ballot = 0;
  EXPECT_EQ(hocket_ballot_fill(client, &ballot), -1);
  EXPECT_EQ(hocket_client_measured(client, "transfer_us", 12.5, nullptr), 0);
  EXPECT_EQ(hocket_client_measured(client, "note", 0, "ring"), 0);
  EXPECT_EQ(hocket_client_measured(client, "own_cost_percent", 0.25, nullptr), 0);
  for (const double percent : {-0.001, 100.001, 1e300}) {
    EXPECT_EQ(hocket_client_measured(client, "own_cost_percent", percent, nullptr), -1);
    EXPECT_THAT(hocket_error(), HasSubstr("a share in percent is from 0 to 100"));
  }
  EXPECT_EQ(hocket_client_measured(client, "Bad name", 1, nullptr), -1);
  EXPECT_EQ(hocket_client_measured(client, "x", 1, "a text"), -1);
  for (int i = 2; i < static_cast<int>(kMaxReportedValues); ++i)
    EXPECT_EQ(hocket_client_measured(client, ("v" + std::to_string(i)).c_str(), i, nullptr), 0);
  EXPECT_EQ(hocket_client_measured(client, "one_more", 1, nullptr), -1);
  std::array<std::int64_t, 16> waited_ns = {};
  waited_ns[3] = 70'000;
  EXPECT_EQ(hocket_ranks_counted(client, 4, waited_ns.data(), waited_ns.size()), 0);
  EXPECT_EQ(hocket_ranks_counted(client, 4, waited_ns.data(), waited_ns.size()), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("step 4 is not one from 5 on"));
  EXPECT_EQ(hocket_ranks_counted(client, 5, waited_ns.data(), 2), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("2 ranks, but the job has 16"));
  waited_ns[3] = -1;
  EXPECT_EQ(hocket_ranks_counted(client, 5, waited_ns.data(), waited_ns.size()), -1);

  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::int64_t step = 0;
  bool was_trying = false;
  while (!daemon.is_done() && std::chrono::steady_clock::now() < limit) {
    const auto partition = partition_of(client);
    const std::int64_t usual_ns = partition == kFaster ? 600'000
                                  : partition == kFast ? 800'000
                                                       : 1'000'000;
    EXPECT_EQ(hocket_iteration(client, step, usual_ns + step * 7919 % 13 * 1000), 0);
    const bool changed = hocket_step_ended(client) == 1;
    EXPECT_EQ(changed, partition_of(client) != partition);
    ++step;
    if (asked.times > 20) asked.may = true;
    EXPECT_TRUE(asked.may || hocket_client_is_trying(client) == 0);
    was_trying = was_trying || hocket_client_is_trying(client) == 1;
  }
  EXPECT_TRUE(was_trying);
  EXPECT_EQ(partition_of(client), kFaster);
  const auto job = daemon.jobs.wait().value();
  EXPECT_EQ(job["topology"]["world_size"], 16);
  EXPECT_EQ(job["predictions"][0]["iteration_ns"], 5);
  EXPECT_EQ(daemon.outcomes.wait().value()["status"], "applied");
  const auto counted = daemon.counted.wait().value();
  EXPECT_EQ(counted["step"], 4);
  EXPECT_EQ(counted["waited_ns"][3], 70'000) << counted;
  EXPECT_EQ(hocket_client_close(client), 0);
}

TEST_F(HocketClientLive, OnlyRankZeroDecidesAloneAndPredictionsMustBeReadable) {
  hocket_client_options options = options_;
  options.decides_alone = 1;
  options.rank = 1;
  options.config_json = R"({"format":"hocket-schedule","version":1})";
  EXPECT_EQ(hocket_client_open(&options), nullptr);
  EXPECT_THAT(hocket_error(), HasSubstr("only rank 0"));
  options.rank = 0;
  options.predictions = R"([{"iteration_ns":0}])";
  EXPECT_EQ(hocket_client_open(&options), nullptr);
  EXPECT_THAT(hocket_error(), HasSubstr("predictions[0]"));
}

TEST_F(HocketClientLive, WithoutADaemonNothingChangesAndRank0AloneReports) {
  ::setenv("HOCKET_REPORT", folder_.file("report").c_str(), 1);
  ::setenv("HOCKET_ITERATIONS", folder_.file("iterations").c_str(), 1);
  const std::array clients = {open(), open(1, R"({"format":"hocket-schedule","version":1})")};
  Summation ranks;
  const auto ends = [step = 0]() mutable { return ++step == 4; };
  std::thread other([&] { EXPECT_THAT(train(clients[1], 1, false, ranks, ends), ElementsAre()); });
  EXPECT_THAT(train(clients[0], 0, true, ranks, ends), ElementsAre());
  other.join();
  EXPECT_EQ(hocket_client_close(clients[1]), 0);
  EXPECT_FALSE(read_file(folder_.file("report")));
  EXPECT_EQ(hocket_client_close(clients[0]), 0);
  const auto report = parse_object(read_file(folder_.file("report")).value(), "report").value();
  EXPECT_EQ(report["iterations"].size(), 4u);
  EXPECT_EQ(read_file(folder_.file("iterations")).value().size(),
            4 * std::string("1000000\n").size());
}

TEST_F(HocketClientLive, CallsInAnotherOrderAreErrors) {
  hocket_client* const client = open();
  std::vector<float> ballot(hocket_ballot_size(client));
  const auto refuses = [](int result, const char* why) {
    EXPECT_EQ(result, -1);
    EXPECT_THAT(hocket_error(), HasSubstr(why));
  };
  const auto fill = [&] { return hocket_ballot_fill(client, ballot.data()); };
  const auto read = [&] { return hocket_ballot_read(client, ballot.data()); };
  refuses(read(), "no ballot was filled");
  refuses(hocket_step_ended(client), "was not filled");
  ASSERT_EQ(fill(), 0);
  refuses(fill(), "the step before has not ended");
  EXPECT_EQ(hocket_step_ended(client), 0);
  refuses(hocket_step_ended(client), "was not filled");
  refuses(fill(), "its ballot was not read");
  EXPECT_EQ(read(), 0);
  refuses(read(), "no ballot was filled");
  EXPECT_EQ(fill(), 0);
  refuses(hocket_iteration(client, 2, 5), "step 2 is not one from 0 to 1");
  refuses(hocket_iteration(client, 0, 0), "not positive");
  EXPECT_EQ(hocket_iteration(client, 0, 5), 0);
  refuses(hocket_step_counted(client, 2, 5, 5), "step 2 is not one from 0 to 1");
  const std::int64_t waited_ns = 5;
  refuses(hocket_ranks_counted(client, 0, &waited_ns, 1), "does not decide alone");
  refuses(hocket_step_counted(client, 0, -2, 5), "neither 0 or above nor -1");
  EXPECT_EQ(hocket_step_counted(client, 0, 5, -1), 0);
  refuses(hocket_step_counted(client, 0, 5, 5), "step 0 is not one from 1 to 1");
  refuses(hocket_iteration(client, 0, 5), "step 0 is not one from 1 to 1");
  const std::int64_t time_ns = 5;
  refuses(hocket_client_report(client, &time_ns, 1), "hocket_iteration instead");
  refuses(hocket_ballot_fill(client, nullptr), "NULL");
  refuses(hocket_ballot_read(client, nullptr), "NULL");
  refuses(hocket_ballot_fill(nullptr, ballot.data()), "NULL");
  EXPECT_EQ(hocket_client_close(client), 0);

  options_.knob_count = 0;
  hocket_client* const plain = open();
  EXPECT_EQ(hocket_ballot_size(plain), 0u);
  refuses(hocket_ballot_fill(plain, ballot.data()), "without knobs");
  refuses(hocket_ballot_read(plain, ballot.data()), "without knobs");
  refuses(hocket_step_ended(plain), "without knobs");
  refuses(hocket_iteration(plain, 0, 5), "without knobs");
  EXPECT_EQ(hocket_client_close(plain), 0);
}

}  // namespace
}  // namespace hocket
