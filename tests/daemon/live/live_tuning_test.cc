#include "daemon/live/live_tuning.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/daemon/live/live_tuning_fixture.h"

namespace hocket {
namespace {

TEST_F(LiveTuningTest, ASearchBeginsWithTheNearestStudyOrElseWithWhatTheJobPredicts) {
  const auto add = [&](JobDescription job) {
    const ConfigKey key{fingerprint(job.topology), fingerprint(job.workload)};
    jobs_.push_back(std::make_unique<SimulatedJob>(std::move(job), time_of, jobs_.size() + 1));
    jobs_.back()->connect(*daemon_, to_string(key));
  };
  JobDescription first = sample_job("a", 0.1);
  first.predictions = {{with_parts(1 << 19), 10'000'000}, {with_parts(1 << 23), 20'000'000}};
  add(first);
  for (int i = 0; i < 100 && (studies().empty() || studies()[0].state == StudyState::running); ++i)
    run();
  ASSERT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].definition["donor"]["study"], "what the job predicts");
  EXPECT_EQ(studies()[0].definition["donor"]["evaluations"].size(), 2u);

  JobDescription second = first;
  second.id = "b";
  for (TensorSpec& tensor : second.workload.tensors) tensor.bytes *= 2;
  add(second);
  for (int i = 0; i < 20 && studies().size() < 2; ++i) run();
  ASSERT_EQ(studies().size(), 2u);
  EXPECT_EQ(studies()[1].definition["donor"]["study"], studies()[0].name);
}

TEST_F(LiveTuningTest, AJobEndsNearTheBestAndOthersGetWhatItKept) {
  auto& explorer = add_job("a");
  auto& other = add_job("b", 0);
  run();
  EXPECT_LT(time_of(explorer.config()), 1.05 * 10 * kMillisecondNs);
  EXPECT_EQ(other.config(), explorer.config());
  EXPECT_EQ(other.version(), explorer.version());
  EXPECT_TRUE(other.offered.empty());
  ASSERT_FALSE(promotions().empty());
  for (const auto& row : promotions()) {
    EXPECT_EQ(row.origin, PromotionOrigin::live);
    EXPECT_EQ(row.stage, PromotionStage::released);
  }
  EXPECT_EQ(promotions().back().config, to_json(explorer.config()));
  EXPECT_TRUE(std::ranges::is_sorted(other.versions));
  ASSERT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
  const auto counts = daemon_->live.counts();
  EXPECT_EQ(counts.offered, counts.kept + counts.rolled_back);
  EXPECT_TRUE(daemon_->lines.empty()) << daemon_->lines[0];
}

TEST_F(LiveTuningTest, WhatWasSlowerIsQuarantinedAndNotOfferedAgain) {
  auto& job = add_job("a");
  run();
  ASSERT_FALSE(job.slower.empty());
  EXPECT_EQ(quarantine().size(), job.slower.size());
  for (const auto& config : job.slower) {
    EXPECT_EQ(std::ranges::count(quarantine(), to_json(config)), 1) << to_json(config);
    EXPECT_EQ(std::ranges::count(job.offered, config, &CandidateMessage::config), 1);
  }
}

TEST_F(LiveTuningTest, AConfigurationInQuarantineIsNeverOffered) {
  must(store_->upsert_topology(sample_topology()));
  must(store_->upsert_workload(sample_workload()));
  for (std::int64_t parts = 64 << 10; parts <= 64 << 20; parts *= 2) {
    if (parts == 512 << 10) continue;
    const auto config = to_json(with_parts(parts));
    must(store_->quarantine({.topology_id = 1, .workload_id = 1, .config = config}));
  }
  auto& job = add_job("a");
  run(20);
  ASSERT_EQ(job.offered.size(), 1u);
  EXPECT_EQ(job.offered[0].config, with_parts(512 << 10));
}

TEST_F(LiveTuningTest, WhenTheExplorerLeavesAnotherJobGoesOnWithItsStudy) {
  auto& first = add_job("a");
  run(4);
  const auto tried = first.offered.size();
  ASSERT_GT(tried, 1u);
  auto& second = add_job("b");
  run(1);
  EXPECT_TRUE(second.offered.empty());
  first.disconnect();
  jobs_.erase(jobs_.begin());
  daemon_->tick();
  EXPECT_TRUE(second.offered.empty()) << "a connection that broke may come back";
  daemon_->tick(91);
  run();
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
  EXPECT_FALSE(second.offered.empty());
  EXPECT_LT(time_of(second.config()), 1.05 * 10 * kMillisecondNs);
}

TEST_F(LiveTuningTest, AJobThatEndsIsGoneAtOnceAndHasRefusedNothing) {
  auto& first = add_job("a");
  run(2);
  daemon_->settle();
  first.end();
  jobs_.erase(jobs_.begin());
  EXPECT_TRUE(daemon_->jobs.list().empty());
  auto& second = add_job("b");
  run();
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_FALSE(second.offered.empty());
  for (const auto& trial : must(store_->trials(studies()[0].id, TrialDetail::summary))) {
    EXPECT_EQ(trial.state, TrialState::complete) << trial.message;
  }
}

TEST_F(LiveTuningTest, AnEndedSearchIsNotBegunAgainByTheNextJobOrTheNextDaemon) {
  add_job("a");
  run();
  ASSERT_EQ(studies()[0].state, StudyState::finished);
  restart();
  auto& next = add_job("b");
  run(10);
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_TRUE(next.offered.empty());
}

/// Jobs one after the other.
class EndedSearches : public LiveTuningTest {
 protected:
  void end_jobs() {
    for (const auto& job : jobs_) job->end();
    jobs_.clear();
  }
  void next_job(const std::string& id, const TimeOf& time, int rounds) {
    end_jobs();
    JobDescription job = sample_job(id, 0.1);
    if (const auto kept = promotions(); !kept.empty()) {
      job.config = schedule_config_from_json(kept.back().config).value();
      job.version = kept.back().id;
    }
    jobs_.push_back(std::make_unique<SimulatedJob>(std::move(job), time, 1));
    jobs_.back()->connect(*daemon_);
    run(rounds);
  }
};

TEST_F(EndedSearches, AnOldOneIsOpenedAgain) {
  next_job("a", time_of, 20);
  ASSERT_EQ(studies()[0].state, StudyState::finished);
  end_jobs();
  clock_.now += kOldSearchNs / 2;
  next_job("b", time_of, 10);
  EXPECT_EQ(studies().size(), 1u);
  end_jobs();
  clock_.now += kOldSearchNs;
  next_job("c", time_of, 20);
  EXPECT_EQ(studies().size(), 2u);
  EXPECT_EQ(count_audit("reopen_search"), 1);
}

TEST_F(EndedSearches, OneThatTheIterationsOfALaterJobContradictIsOpenedAgain) {
  next_job("a", time_of, 20);
  ASSERT_EQ(studies()[0].state, StudyState::finished);
  next_job("b", time_of, 40);
  EXPECT_EQ(studies().size(), 1u) << "its iterations take as long as those of the job before";
  // Another batch is not in the key.
  next_job(
      "c", [](const ScheduleConfig& config) { return 3 * time_of(config); }, 40);
  ASSERT_EQ(studies().size(), 2u);
  EXPECT_EQ(studies()[1].definition["donor"]["study"], studies()[0].name);
  EXPECT_EQ(studies()[1].state, StudyState::finished);
  EXPECT_EQ(count_audit("reopen_search"), 1);
  EXPECT_EQ(count_audit("drift"), 0);
}

TEST_F(EndedSearches, AWeakOneIsOpenedAgainOnce) {
  // Times as different that nothing tried is faster or slower beyond the noise.
  int calls = 0;
  const TimeOf time = [&](const ScheduleConfig&) {
    return 10 * kMillisecondNs * (calls++ / 2 % 2 == 0 ? 0.7 : 1.3);
  };
  next_job("a", time, 100);
  ASSERT_EQ(studies()[0].state, StudyState::finished);
  ASSERT_TRUE(promotions().empty());
  next_job("b", time, 100);
  ASSERT_EQ(studies().size(), 2u);
  ASSERT_EQ(studies()[1].state, StudyState::finished);
  next_job("c", time, 100);
  EXPECT_EQ(studies().size(), 2u) << "two weak ones in a row say that the noise is the place's";
  EXPECT_EQ(count_audit("reopen_search"), 1);
}

TEST_F(EndedSearches, JobsAreToldWhatItCameTo) {
  EXPECT_FALSE(resolve().contains("search"));
  next_job("a", time_of, 20);
  ASSERT_EQ(studies()[0].state, StudyState::finished);
  const auto told = resolve().at("search");
  EXPECT_EQ(told.at("study"), studies()[0].name);
  EXPECT_EQ(told.at("kept"), promotions().size());
  EXPECT_GE(told.at("tried"), 6);
  EXPECT_FALSE(told.contains("opened_again"));
  const auto shown = daemon_->ask("GET", "/v1/jobs")["jobs"][0];
  EXPECT_EQ(shown.at("tuning"), "settled");
  EXPECT_EQ(shown.at("search"), told);
  end_jobs();
  clock_.now += kOldSearchNs + 1;
  EXPECT_EQ(resolve().at("search").at("opened_again"), "it is more than 30 days old");
}

TEST_F(LiveTuningTest, FrozenAndPinnedKeysAreLeftAlone) {
  must(store_->upsert_topology(sample_topology()));
  must(store_->upsert_workload(sample_workload()));
  const std::string path = "/v1/configs/" + sample_key();
  daemon_->ask("PUT", path + "/freeze");
  add_job("a");
  run(5);
  EXPECT_TRUE(jobs_[0]->offered.empty());
  daemon_->ask("PUT", path + "/pin");
  daemon_->ask("PUT", path + "/freeze", {{"frozen", false}});
  run(5);
  EXPECT_TRUE(jobs_[0]->offered.empty());
  daemon_->ask("PUT", path + "/pin", {{"pinned", false}});
  run(2);
  EXPECT_FALSE(jobs_[0]->offered.empty());
}

TEST_F(LiveTuningTest, ADriftLiftsTheQuarantineAndBeginsANewStudy) {
  double load = 1;
  add_job("a", 0.1, [&](const ScheduleConfig& config) { return load * time_of(config); });
  run();
  ASSERT_EQ(studies().size(), 1u);
  ASSERT_FALSE(quarantine().empty());
  run(40);
  EXPECT_EQ(count_audit("drift"), 0);
  EXPECT_EQ(studies().size(), 1u);
  load = 1.5;
  run(20);
  EXPECT_EQ(count_audit("drift"), 1);
  EXPECT_EQ(count_audit("lift_quarantine"), 1);
  ASSERT_EQ(studies().size(), 2u);
  // The second search begins with the measurements of the first.
  EXPECT_EQ(studies()[1].definition["donor"]["study"], studies()[0].name);
  run();
  EXPECT_EQ(studies()[1].state, StudyState::finished);
  EXPECT_EQ(daemon_->live.counts().drifts, 1u);
}

TEST_F(LiveTuningTest, ARestartGoesOnWithTheStudyAndTakesTheOutstandingOutcome) {
  const TemporaryFolder folder;
  store_ =
      must(open_store(folder.file("store.db"), {.now_unix_ns = [this] { return clock_.now; }}));
  restart();
  auto& job = add_job("a");
  for (int i = 0; i < 40; ++i) {
    run(1);
    // The job has reported its candidate's outcome, only tried the candidate, or not seen it yet.
    if (i % 3 == 0) job.read();
    restart();
  }
  run(30);
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
  EXPECT_LT(time_of(job.config()), 1.05 * 10 * kMillisecondNs);
  EXPECT_EQ(promotions().back().config, to_json(job.config()));
  for (const auto& trial : must(store_->trials(studies()[0].id, TrialDetail::summary))) {
    EXPECT_EQ(trial.state, TrialState::complete) << trial.message;
  }
}

TEST_F(LiveTuningTest, AJobThatKeepsACandidateAndCannotTellIsBelieved) {
  auto& job = add_job("a");
  while (job.config() == ScheduleConfig{}) {
    run(1);
    job.read();  // may keep one without reporting it
    if (job.config() != ScheduleConfig{}) break;
  }
  const auto kept = job.config();
  // The report was accepted by a daemon that ended before it processed the report.
  auto copy = std::make_unique<SimulatedJob>(
      [&] {
        auto description = sample_job("a");
        description.config = kept;
        return description;
      }(),
      time_of);
  jobs_[0] = std::move(copy);
  restart();
  run(3);
  ASSERT_FALSE(promotions().empty());
  EXPECT_EQ(promotions().front().config, to_json(kept));
}

TEST_F(LiveTuningTest, AJobThatRefusesFiveTimesIsLeftAlone) {
  auto& job = add_job("a");
  job.refuses = true;
  run(20);
  EXPECT_EQ(job.offered.size(), static_cast<std::size_t>(tuning::kMostRejections));
  auto& other = add_job("b");
  run(5);
  EXPECT_EQ(job.offered.size(), static_cast<std::size_t>(tuning::kMostRejections));
  EXPECT_FALSE(other.offered.empty());
}

TEST_F(LiveTuningTest, AJobThatDoesNotAnswerMakesRoomForAnother) {
  auto& job = add_job("a");
  run(2);
  job.ignores = true;
  run(2);
  const auto offered = job.offered.size();
  clock_.now += 2 * tuning::kAnswerLimitNs;
  run(2);
  EXPECT_EQ(job.offered.size(), offered) << "there is no other: it is waited for";
  auto& other = add_job("b");
  run(3);
  EXPECT_FALSE(other.offered.empty());
}

TEST_F(LiveTuningTest, APushGoesToOneCanaryThenToTheRest) {
  auto& canary = add_job("a", 0);
  auto& other = add_job("b", 0);
  const auto version = push(1 << 20);
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  daemon_->tick();
  other.run();
  EXPECT_TRUE(other.versions.empty());
  canary.run();
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  run(1);
  EXPECT_EQ(canary.config(), with_parts(1 << 20));
  EXPECT_EQ(other.config(), with_parts(1 << 20));
  EXPECT_EQ(other.version(), version);
}

TEST_F(LiveTuningTest, ACanaryThatRollsBackEndsTheVersion) {
  add_job("a", 0);
  add_job("b", 0);
  const auto version = push(64 << 20);
  run(3);
  EXPECT_EQ(stage_of(version), PromotionStage::withdrawn);
  EXPECT_TRUE(jobs_[1]->versions.empty());
  EXPECT_EQ(jobs_[0]->config(), ScheduleConfig{});
  EXPECT_EQ(quarantine(), std::vector{to_json(with_parts(64 << 20))});
  EXPECT_EQ(promotions().size(), 1u) << "there was nothing to go back to";
}

TEST_F(LiveTuningTest, ASilentCanaryIsReplaced) {
  auto& canary = add_job("a", 0);
  auto& next = add_job("b", 0);
  canary.ignores = true;
  const auto version = push(1 << 20);
  run(3);
  EXPECT_TRUE(next.versions.empty());
  clock_.now += kCanaryLimitNs;
  run(2);
  EXPECT_FALSE(next.versions.empty());
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(LiveTuningTest, ACanaryWhoseConnectionBreaksIsWaitedFor) {
  auto& canary = add_job("a", 0);
  const auto version = push(1 << 20);
  canary.disconnect();
  daemon_->tick(5);
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  canary.connect(*daemon_);
  run(1);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(canary.version(), version);
}

TEST_F(LiveTuningTest, AVersionOnItsWayOutlivesTheDaemon) {
  auto& canary = add_job("a", 0);
  canary.ignores = true;
  const auto version = push(1 << 20);
  run(1);
  clock_.now += kSecondNs;
  canary.lose_daemon();
  daemon_ = std::make_unique<Assembled>(*store_, clock_);
  (void)daemon_->reply({.method = "GET", .target = "/v1/watch?key=" + sample_key()});
  daemon_->tick(5);
  EXPECT_EQ(stage_of(version), PromotionStage::staged) << "its jobs are coming back";
  canary.ignores = false;
  canary.connect(*daemon_);
  run(1);
  EXPECT_EQ(canary.version(), version);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(LiveTuningTest, ACanaryThatKeptItWhileTheDaemonWasAwayIsBelieved) {
  auto& canary = add_job("a", 0);
  const auto version = push(1 << 20);
  daemon_->settle();
  canary.read();  // it keeps the version, and its report is lost
  ASSERT_EQ(canary.version(), version);
  canary.forget_outcomes();
  clock_.now += kSecondNs;
  restart();
  run(1);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(LiveTuningTest, OfTwoPushesInARowTheSecondTakesThePlace) {
  add_job("a", 0);
  add_job("b", 0);
  const auto first = push(2 << 20), second = push(1 << 20);
  run(3);
  EXPECT_EQ(stage_of(first), PromotionStage::withdrawn);
  EXPECT_EQ(stage_of(second), PromotionStage::released);
  for (const auto& job : jobs_) EXPECT_EQ(job->version(), second);
}

TEST_F(LiveTuningTest, AVersionThatJobsRollBackAfterItsReleaseIsTakenBack) {
  for (const char* id : {"a", "b", "c", "d"}) add_job(id, 0);
  const auto good = push(2 << 20);
  run(3);
  for (int i = 1; i < 4; ++i) jobs_[static_cast<std::size_t>(i)]->rolls_back_versions = true;
  const auto bad = push(1 << 20);
  run(3);
  EXPECT_EQ(stage_of(good), PromotionStage::released);
  EXPECT_EQ(stage_of(bad), PromotionStage::withdrawn);
  EXPECT_EQ(promotions().back().origin, PromotionOrigin::rollback);
  EXPECT_EQ(promotions().back().config, to_json(with_parts(2 << 20)));
  EXPECT_EQ(jobs_[1]->versions.back(), promotions().back().id);
}

TEST_F(LiveTuningTest, AnotherProcessesPromotionsReachRunningJobsInStages) {
  const TemporaryFolder folder;
  const WallClock now = [this] { return clock_.now; };
  store_ = must(open_store(folder.file("store.db"), {.now_unix_ns = now}));
  const auto other_process = must(open_store(folder.file("store.db"), {.now_unix_ns = now}));
  restart();
  auto& canary = add_job("a", 0);
  auto& other = add_job("b", 0);
  daemon_->tick();
  const auto study = must(other_process->create_study(sample_study()));
  const auto row = must(other_process->promote({.topology_id = 1,
                                                .workload_id = 1,
                                                .study_id = study.id,
                                                .config = to_json(with_parts(1 << 20))}));
  EXPECT_EQ(daemon_->ask("GET", "/v1/configs")["configs"][0]["version"], row.id);
  daemon_->tick();
  other.run();
  EXPECT_TRUE(other.versions.empty());
  canary.run();
  other.run();
  EXPECT_EQ(other.version(), row.id);
  EXPECT_EQ(daemon_->ask("GET", "/v1/configs/" + sample_key())["version"], row.id);
}

TEST_F(LiveTuningTest, WhatWasResolvedBeforeAnyJobIsNotStale) {
  const nlohmann::json who = {{"topology", to_json(sample_topology())},
                              {"workload", to_json(sample_workload())}};
  EXPECT_EQ(daemon_->ask("POST", "/v1/resolve", who)["match"], "none");
  for (const std::int64_t parts : {1 << 20, 2 << 20}) {
    must(store_->promote({.topology_id = 1,
                          .workload_id = 1,
                          .config = to_json(with_parts(parts)),
                          .origin = PromotionOrigin::push,
                          .actor = "ada"}));
    daemon_->tick();
    EXPECT_EQ(daemon_->ask("POST", "/v1/resolve", who)["config"]["partition_bytes"], parts);
  }
}

TEST_F(LiveTuningTest, ARollbackReachesEverybodyAtOnceAndVersionsRise) {
  add_job("a", 0);
  add_job("b", 0);
  push(2 << 20);
  run(3);
  const auto second = push(1 << 20);
  run(3);
  const std::string path = "/v1/configs/" + sample_key();
  const auto back = daemon_->ask("PUT", path + "/rollback", {{"note", "wrong"}});
  EXPECT_EQ(back["config"], to_json(with_parts(2 << 20)));
  EXPECT_EQ(stage_of(second), PromotionStage::withdrawn);
  for (const auto& job : jobs_) {
    job->run();
    EXPECT_EQ(job->versions.back(), back["version"]);
    EXPECT_TRUE(std::ranges::is_sorted(job->versions));
  }
  // A staged version that was replaced is not the target of a rollback.
  const auto pinned = daemon_->ask("PUT", path + "/pin", {{"version", second}});
  EXPECT_EQ(pinned["config"], to_json(with_parts(1 << 20)));
  EXPECT_EQ(pinned["pinned"], true);
  EXPECT_GT(pinned["version"], back["version"]);
}

}  // namespace
}  // namespace hocket
