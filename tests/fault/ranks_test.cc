// Pushes to a job whose ranks stall or die: all ranks change before the same collective, or none
// does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/step/schedule_config.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/gpt2_job.h"
#include "tests/fault/rank_tapes.h"

namespace hocket {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;

constexpr std::int64_t kSteps = 200;
constexpr std::uint64_t kCollectives = 7;  // per step, including the ballot

std::vector<std::string> model() {
  return {"--d-model", "32",      "--heads", "2",       "--sequence",
          "16",        "--batch", "2",       "--steps", std::to_string(kSteps)};
}

ScheduleConfig parts_of(std::int64_t partition_bytes, CollectiveOrder order = {}) {
  ScheduleConfig config;
  config.partition_bytes = partition_bytes;
  config.order = order;
  return config;
}

/// A job with the given number of ranks that watches its own daemon. The last rank is stopped, so
/// that the job does not end before the test acts.
class Ranks : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.listens());
    job_ = std::make_unique<Gpt2Job>(folder_, Gpt2JobOptions{.daemon = daemon_.url(),
                                                             .ranks = GetParam(),
                                                             .watch = true,
                                                             .explore = "0%",
                                                             .record = true,
                                                             .arguments = model()});
    ASSERT_TRUE(eventually([&] { return job_->iterations() > 0; })) << job_->errors();
    stop(last_);
    ASSERT_TRUE(eventually([&] {
      const auto jobs = client_.ask("GET", "/v1/jobs");
      if (!jobs || jobs->at("jobs").empty()) return false;
      key_ = jobs->at("jobs")[0].at("key");
      return jobs->at("jobs")[0].at("connected") == true;
    })) << job_->errors();
  }

  /// Pushes a version and returns it once it is acknowledged.
  std::int64_t push(const ScheduleConfig& config) {
    const auto pushed = client_.ask("PUT", "/v1/configs/" + key_, {{"config", to_json(config)}});
    EXPECT_TRUE(pushed) << pushed.error().message;
    return pushed ? pushed->at("version").get<std::int64_t>() : 0;
  }

  void wait_until_sent() {
    EXPECT_TRUE(eventually([&] {
      const auto metrics = client_.send("GET", "/metrics");
      const std::string name = "\nhocket_http_events_total ";
      const auto at = metrics ? metrics->body.find(name) : std::string::npos;
      return at != std::string::npos && metrics->body[at + name.size()] != '0';
    }));
  }

  void wait_until_tried(std::int64_t version) {
    const std::string line = "trying version " + std::to_string(version);
    EXPECT_TRUE(eventually([&] { return job_->errors().find(line) != std::string::npos; }))
        << job_->errors();
  }

  void stop(int rank) {
    job_->rank(rank).signal(SIGSTOP);
    EXPECT_TRUE(eventually([&] { return process_state(job_->rank(rank).pid()) == 'T'; }));
  }
  void go_on(int rank) { job_->rank(rank).signal(SIGCONT); }

  /// Waits until the other ranks, which can advance by only a step or two, have stopped.
  void wait_until_all_wait() {
    EXPECT_TRUE(eventually([&, before = std::int64_t{-1}, same = 0]() mutable {
      const auto now = job_->iterations();
      same = now == before ? same + 1 : 0;
      before = now;
      return same >= 20;
    }));
  }

  std::vector<RankTape> tapes(int ranks) {
    std::vector<RankTape> tapes;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto tape = read_rank_tape(job_->tape(rank));
      EXPECT_TRUE(tape) << "rank " << rank << ": " << tape.error().message;
      tapes.push_back(tape.value_or(RankTape()));
      EXPECT_EQ(difference(tapes[0], tapes.back()), "") << "rank " << rank;
      for (const auto& one : tapes.back().switches) {
        EXPECT_EQ(one.collective % kCollectives, 0u) << "a step has two configurations";
      }
    }
    return tapes;
  }

  /// Expects that the job ends as without a daemon, and that every tape shows it.
  void expect_unharmed(std::size_t least_switches) {
    EXPECT_EQ(job_->wait(), 0) << job_->errors();
    const auto learned = job_->learned();
    for (const auto& tape : tapes(GetParam())) {
      EXPECT_TRUE(tape.is_whole);
      EXPECT_EQ(tape.parts.size(), kCollectives * kSteps);
      EXPECT_THAT(tape.parts, Each(Ge(1)));
      EXPECT_GE(tape.switches.size(), least_switches) << job_->errors();
    }
    job_ = std::make_unique<Gpt2Job>(folder_,
                                     Gpt2JobOptions{.ranks = GetParam(), .arguments = model()});
    EXPECT_EQ(job_->wait(), 0) << job_->errors();
    expect_same(learned, job_->learned());
  }

  /// Sums of two numbers are exact in any order. With three, rounding depends on the order in which
  /// a ring adds, which depends on where a part begins.
  void expect_same(const nlohmann::json& learned, const nlohmann::json& expected) const {
    if (GetParam() == 2) {
      EXPECT_EQ(learned, expected);
      return;
    }
    ASSERT_EQ(learned.at("losses").size(), expected.at("losses").size());
    for (std::size_t step = 0; step < kSteps; ++step) {
      const double loss = expected.at("losses")[step];
      ASSERT_NEAR(learned.at("losses")[step].get<double>(), loss, 1e-3) << "step " << step;
    }
  }

  const int last_ = GetParam() - 1;
  const TemporaryFolder folder_;
  DaemonProcess daemon_{{.store = folder_.file("store.db"), .log = folder_.file("log")}};
  DaemonClient client_{daemon_.port()};
  std::unique_ptr<Gpt2Job> job_;
  std::string key_;
};

TEST_P(Ranks, AChangeWaitsForARankThatStalls) {
  const auto version = push(parts_of(8192));
  wait_until_sent();
  wait_until_all_wait();
  EXPECT_TRUE(job_->rank(0).is_running());
  go_on(last_);
  wait_until_tried(version);
  for (const int rank : {last_, 0, last_}) {
    SCOPED_TRACE("rank " + std::to_string(rank) + " stalls in the window");
    stop(rank);
    wait_until_all_wait();
    go_on(rank);
  }
  expect_unharmed(1);
}

TEST_P(Ranks, TwoPushesInARow) {
  push(parts_of(8192, CollectiveOrder::negotiated));
  const auto second = push(parts_of(16384));
  go_on(last_);
  wait_until_tried(second);
  const auto third = push(parts_of(4096));
  push(parts_of(32768, CollectiveOrder::negotiated));
  EXPECT_GT(third, 2);
  expect_unharmed(1);
}

TEST_P(Ranks, PushesInTheLastSteps) {
  go_on(last_);
  for (const std::int64_t before_end : {60, 30, 14, 8, 4}) {
    if (!eventually([&] { return job_->iterations() >= kSteps - before_end; })) break;
    push(parts_of(4096 + before_end * 64));
  }
  expect_unharmed(0);
}

TEST_P(Ranks, ARankThatDiesEndsTheJobAsEver) {
  const auto version = push(parts_of(8192));
  go_on(last_);
  wait_until_tried(version);
  // The change is due two steps later.
  const auto tried = job_->iterations();
  EXPECT_TRUE(eventually([&] { return job_->iterations() >= tried + 4; }));
  job_->rank(last_).signal(SIGKILL);
  for (int rank = 0; rank < last_; ++rank) {
    EXPECT_EQ(job_->rank(rank).wait(std::chrono::minutes(1)), 1) << job_->errors();
  }
  EXPECT_EQ(job_->rank(last_).wait(std::chrono::minutes(1)), 128 + SIGKILL);
  EXPECT_THAT(job_->errors(), HasSubstr("gpt2: "));
  for (const auto& tape : tapes(last_)) {
    EXPECT_TRUE(tape.is_whole);
    EXPECT_GE(tape.switches.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Ranks, ::testing::Values(2, 3));

}  // namespace
}  // namespace hocket
