// Live tuning when the store fails, throws or is locked, and what it keeps in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/live/live_tuning.h"
#include "store/sqlite/connection.h"
#include "tests/daemon/live/live_tuning_fixture.h"
#include "tests/store/faulty_store.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

constexpr int kEveryCall = 13;

TEST_F(LiveTuningTest, AKeyWhoseTuningThrowsIsSetAsideAndTheOthersGoOn) {
  int set_aside = 0;
  for (int throwing_call = 1; throwing_call <= 100; throwing_call += 2 * kEveryCall) {
    SCOPED_TRACE(throwing_call);
    jobs_.clear();
    clock_.now = kSecondNs;
    store_ = open_store_in_memory([this] { return clock_.now; });
    FaultyStore faulty(*store_, throwing_call, FaultKind::exception);
    daemon_ = std::make_unique<Assembled>(*store_, clock_, AccessTokens(), &faulty);
    auto& job = add_job("a");
    auto description = sample_job("b");
    description.topology = sample_topology(4);
    const auto other_key =
        to_string(ConfigKey{fingerprint(description.topology), fingerprint(description.workload)});
    jobs_.push_back(std::make_unique<SimulatedJob>(description, time_of, 2));
    auto& other = *jobs_.back();
    other.connect(*daemon_, other_key);
    for (int i = 0; i < 8; ++i) {
      daemon_->tick();
      for (const auto& one : jobs_) one->run();
    }
    EXPECT_EQ(daemon_->errors.count(ErrorOrigin::key) + daemon_->errors.count(ErrorOrigin::tick) +
                  daemon_->errors.count(ErrorOrigin::tuning),
              1u);
    const auto stopped = daemon_->live.set_aside();
    EXPECT_EQ(stopped.size(), daemon_->errors.count(ErrorOrigin::key));
    EXPECT_EQ(daemon_->lines.size(), 1 + stopped.size()) << "once each";
    for (const auto* one : {&job, &other}) {
      const bool is_stopped = stopped.contains(one == &job ? sample_key() : other_key);
      if (is_stopped) continue;
      EXPECT_GT(one->offered.size(), 3u);
    }
    const auto listed = daemon_->ask("GET", "/v1/jobs")["jobs"];
    for (const auto& item : listed) {
      EXPECT_EQ(item.contains("tuning_stopped"), stopped.contains(item["key"])) << item;
      EXPECT_NE(item.contains("tuning"), stopped.contains(item["key"])) << item;
    }
    set_aside += static_cast<int>(stopped.size());
    end_daemon();  // destroyed before the faulty store
  }
  EXPECT_GT(set_aside, 0);
}

TEST_F(LiveTuningTest, AStudyThatIsRemovedWhileItRunsIsBegunAgain) {
  for (const int rounds : {1, 4}) {
    SCOPED_TRACE(rounds);
    jobs_.clear();
    end_daemon();
    clock_.now = kSecondNs;
    store_ = open_store_in_memory([this] { return clock_.now; });
    daemon_ = std::make_unique<Assembled>(*store_, clock_);
    const auto& job = add_job("a");
    run(rounds);
    const auto removed = studies().at(0);
    must(store_->remove_study(removed.id, removed.owner, "ada@b7"));
    run();
    ASSERT_EQ(studies().size(), 1u);
    EXPECT_EQ(studies()[0].id, removed.id + 1);
    EXPECT_EQ(studies()[0].state, StudyState::finished);
    EXPECT_LT(time_of(job.config()), 1.05 * 10 * kMillisecondNs);
    EXPECT_EQ(promotions().back().config, to_json(job.config()));
  }
}

TEST_F(LiveTuningTest, WhileTheStoreIsLockedLittleIsKeptAndNothingRecordedIsLost) {
  FaultyStore locked(*store_, 0);
  daemon_ = std::make_unique<Assembled>(*store_, clock_, AccessTokens(), &locked,
                                        MemoryLimits{.waiting_outcomes = 10});
  add_job("a", 0);
  const auto version = push(1 << 20);
  daemon_->settle();
  locked.set_locked(true);
  const JobReport report{
      .job = "a",
      .version = version,
      .iteration_ns = std::vector<std::int64_t>(100, 5),
      .outcomes = {{.version = version, .current_ns = {1}, .candidate_ns = {1}}}};
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    refused += daemon_->call("POST", "/v1/reports", to_json(report).dump()).status == 503;
    if (i % 10 == 0) daemon_->tick();
  }
  EXPECT_EQ(refused, 990);
  EXPECT_EQ(daemon_->live.sizes().waiting_outcomes, 10u);
  EXPECT_EQ(daemon_->live.sizes().pending_events, 0u);
  daemon_->ask("POST", "/v1/reports", to_json(JobReport{.job = "a"}));
  locked.set_locked(false);
  daemon_->tick();
  EXPECT_EQ(daemon_->live.sizes().waiting_outcomes, 0u);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  end_daemon();
}

TEST_F(LiveTuningTest, IdleKeysAreEvictedUnlessTheyAreWatched) {
  daemon_ = std::make_unique<Assembled>(*store_, clock_, AccessTokens(), nullptr,
                                        MemoryLimits{.idle_keys = 2});
  std::vector<std::string> keys;
  for (int world_size = 2; world_size < 8; ++world_size) {
    const auto topology = sample_topology(world_size);
    const nlohmann::json who = {{"topology", to_json(topology)},
                                {"workload", to_json(sample_workload())}};
    keys.push_back(daemon_->ask("POST", "/v1/resolve", who)["key"]);
    daemon_->ask("PUT", "/v1/configs/" + keys.back(), {{"config", to_json(with_parts(1 << 20))}});
  }
  daemon_->tick();
  EXPECT_EQ(daemon_->live.sizes().keys, 6u);
  std::ranges::sort(keys);  // the order in which they are looked at
  const std::string watched = ConfigBoard::topic(keys[0]), other = ConfigBoard::topic(keys[1]);
  daemon_->feed.set_watched(watched, true);
  EXPECT_TRUE(daemon_->feed.position(other).newest);
  daemon_->tick(61);
  EXPECT_EQ(daemon_->live.sizes().keys, 2u);
  EXPECT_FALSE(daemon_->feed.position(other).newest);
  EXPECT_TRUE(daemon_->feed.position(watched).newest);
  // One that was evicted is used as before.
  (void)daemon_->reply({.method = "GET", .target = "/v1/watch?key=" + keys[1]});
  daemon_->settle();
  EXPECT_TRUE(daemon_->feed.position(other).newest);
  EXPECT_GT(daemon_->ask("GET", "/v1/configs/" + keys[2])["version"], 0);
}

TEST_F(LiveTuningTest, AnErrorThatWouldComeAgainSetsItsKeyAside) {
  const TemporaryFolder folder;
  end_daemon();
  store_ =
      must(open_store(folder.file("store.db"), {.now_unix_ns = [this] { return clock_.now; }}));
  daemon_ = std::make_unique<Assembled>(*store_, clock_);
  auto& job = add_job("a");
  must(store_->promote({.topology_id = 1,
                        .workload_id = 1,
                        .config = to_json(ScheduleConfig{}),
                        .origin = PromotionOrigin::push,
                        .stage = PromotionStage::staged,
                        .actor = "ada"}));
  // The store itself takes no such configuration; another program has written it.
  auto other =
      must(sqlite::Connection::open(folder.file("store.db"), sqlite::Connection::Mode::create, 0));
  must(
      other.execute("UPDATE promotions SET config = "
                    "'{\"format\":\"hocket-schedule\",\"version\":1,\"streams\":0}'"));
  run(5);
  EXPECT_EQ(daemon_->lines.size(), 1u);
  ASSERT_EQ(daemon_->live.set_aside().size(), 1u);
  EXPECT_THAT(daemon_->live.set_aside().begin()->second, testing::HasSubstr("streams"));
  EXPECT_TRUE(job.versions.empty());
  end_daemon();
  store_.reset();  // before its folder
}

TEST_F(LiveTuningTest, ACallOfTheStoreThatFailsIsMadeGoodWithTheNextTick) {
  for (int failing_call = 1; failing_call <= 100; failing_call += kEveryCall) {
    SCOPED_TRACE(failing_call);
    jobs_.clear();
    clock_.now = kSecondNs;
    store_ = open_store_in_memory([this] { return clock_.now; });
    FaultyStore faulty(*store_, failing_call);
    daemon_ = std::make_unique<Assembled>(*store_, clock_, AccessTokens(), &faulty);
    auto& explorer = add_job("a");
    auto& other = add_job("b", 0);
    run(7);
    const auto version = push(1 << 20);
    run(5);
    EXPECT_EQ(daemon_->lines.size(), 1u) << "it is logged";
    ASSERT_EQ(studies().size(), 1u);
    std::uint64_t concluded = 0;
    for (const auto& trial : must(store_->trials(studies()[0].id, TrialDetail::summary))) {
      EXPECT_NE(trial.state, TrialState::failed) << trial.message;
      concluded += trial.state == TrialState::complete && !trial.worker.empty();
    }
    const auto counts = daemon_->live.counts();
    EXPECT_EQ(counts.kept + counts.rolled_back, concluded);
    EXPECT_EQ(counts.offered, concluded + static_cast<std::uint64_t>(running_trials()));
    const auto rows = promotions();
    for (std::size_t i = 1; i < rows.size(); ++i) {
      EXPECT_TRUE(rows[i].config != rows[i - 1].config || rows[i].origin != rows[i - 1].origin);
    }
    EXPECT_NE(stage_of(version), PromotionStage::staged);
    explorer.run(0);
    other.run(0);
    const auto current = must(
        store_->current_promotion(fingerprint(sample_topology()), fingerprint(sample_workload())));
    ASSERT_TRUE(current);
    EXPECT_EQ(current->config, to_json(other.config()));
    end_daemon();  // destroyed before the faulty store
  }
}

}  // namespace
}  // namespace hocket
