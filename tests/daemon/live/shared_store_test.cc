// Several daemons over one store: which of them decides for a key, and what reaches the jobs of
// all.

#include <gmock/gmock.h>

#include "tests/daemon/live/live_tuning_fixture.h"
#include "tests/store/faulty_store.h"

namespace hocket {
namespace {

/// Two daemons: the fixture's, and another one with jobs of its own.
class SharedStoreTest : public LiveTuningTest {
 protected:
  /// A job may have gone to the other daemon, which ends before the fixture's jobs.
  ~SharedStoreTest() override {
    for (const auto& job : jobs_) job->lose_daemon();
  }

  SimulatedJob& add_other_job(const std::string& id, double explore = 0.1) {
    other_jobs_.push_back(
        std::make_unique<SimulatedJob>(sample_job(id, explore), time_of, 100 + other_jobs_.size()));
    other_jobs_.back()->connect(*other_);
    return *other_jobs_.back();
  }

  void run_both(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      run(1);
      other_->tick(0);
      for (const auto& job : other_jobs_) job->run();
      EXPECT_LE(running_trials(), 1);
    }
  }

  std::unique_ptr<Assembled> other_ = std::make_unique<Assembled>(*store_, clock_);
  std::vector<std::unique_ptr<SimulatedJob>> other_jobs_;
};

TEST_F(SharedStoreTest, OneDaemonAtATimeTunesAKey) {
  const SimulatedJob& first = add_job("a");
  const SimulatedJob& second = add_other_job("b");
  run_both(8);
  EXPECT_GT(first.offered.size(), 2u);
  EXPECT_TRUE(second.offered.empty());
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(daemon_->live.sizes().claims, 1u);
  EXPECT_EQ(other_->live.sizes().claims, 0u);
}

TEST_F(SharedStoreTest, AnotherDaemonGoesOnWithTheStudyOfOneThatIsGone) {
  const SimulatedJob& first = add_job("a");
  const SimulatedJob& second = add_other_job("b");
  run_both(6);
  ASSERT_FALSE(first.offered.empty());
  const auto before = must(store_->trials(1, TrialDetail::summary)).size();
  for (const auto& job : jobs_) job->lose_daemon();
  jobs_.clear();
  daemon_.reset();
  for (int i = 0; i < 40; ++i) {
    other_->tick();
    for (const auto& job : other_jobs_) job->run();
  }
  EXPECT_FALSE(second.offered.empty());
  EXPECT_GT(must(store_->trials(1, TrialDetail::summary)).size(), before);
  EXPECT_LT(time_of(second.config()), time_of(ScheduleConfig{}));
  EXPECT_FALSE(promotions().empty());
}

TEST_F(SharedStoreTest, AStagedVersionIsTriedOnceAndThenReachesTheJobsOfAll) {
  const SimulatedJob& first = add_job("a", 0);
  const SimulatedJob& second = add_other_job("b", 0);
  run_both(2);
  // Whoever is asked to push: the daemon with the claim decides.
  const std::int64_t version = other_->ask("PUT", "/v1/configs/" + sample_key(),
                                           {{"config", to_json(with_parts(1 << 20))}})["version"];
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  other_->tick(0);
  for (const auto& job : other_jobs_) job->run();
  EXPECT_TRUE(second.versions.empty()) << "it is not the second daemon's to try";
  run_both(6);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(first.version(), version);
  EXPECT_EQ(second.version(), version);
}

TEST_F(SharedStoreTest, AStagedVersionOfADaemonThatIsGoneWaitsForItsJobs) {
  SimulatedJob& first = add_job("a", 0);
  first.ignores = true;  // so it does not answer
  other_->ask("POST", "/v1/resolve",
              {{"topology", to_json(sample_topology())}, {"workload", to_json(sample_workload())}});
  const std::int64_t version = push(1 << 20);
  must(other_->live.key_changed(must(parse_config_key(sample_key()))));
  run_both(6);
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  first.lose_daemon();
  daemon_.reset();
  must(other_->live.key_changed(must(parse_config_key(sample_key()))));
  other_->tick(5);
  EXPECT_EQ(stage_of(version), PromotionStage::staged) << "its job may come";
  first.ignores = false;
  first.connect(*other_);
  for (int i = 0; i < 3; ++i) {
    other_->tick();
    first.run();
  }
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(first.version(), version);
}

TEST_F(SharedStoreTest, ARollbackReachesTheJobsOfAllAtOnce) {
  SimulatedJob& first = add_job("a", 0);
  SimulatedJob& second = add_other_job("b", 0);
  run_both(2);
  const std::int64_t version = push(1 << 20);
  run_both(8);
  ASSERT_EQ(stage_of(version), PromotionStage::released);
  daemon_->ask("PUT", "/v1/configs/" + sample_key() + "/rollback", {{"to", "default"}});
  run_both(1);
  first.read();
  second.read();
  EXPECT_EQ(first.versions.back(), version + 1);
  EXPECT_EQ(second.versions.back(), version + 1);
}

TEST_F(SharedStoreTest, AVersionWithoutJobsAnywhereIsReleasedAndTheKeyLeft) {
  resolve();
  const std::int64_t version = push(1 << 20);
  daemon_->tick();
  other_->tick();
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(daemon_->live.sizes().claims + other_->live.sizes().claims, 0u);
}

TEST_F(SharedStoreTest, ADaemonThatOnlyLooksAtAKeyDelaysNothing) {
  FaultyStore store(*store_, 0);
  daemon_ = std::make_unique<Assembled>(store, clock_);
  resolve();
  store.lose_claims(true);  // another daemon looks at this moment
  const std::int64_t version = push(1 << 20);
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  store.lose_claims(false);
  daemon_->tick();
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(SharedStoreTest, ALostClaimIsLikeARestart) {
  FaultyStore store(*store_, 0);
  daemon_ = std::make_unique<Assembled>(store, clock_);
  SimulatedJob& job = add_job("a");
  run(4);
  ASSERT_EQ(daemon_->live.sizes().claims, 1u);
  const auto offered = job.offered.size();
  ASSERT_GT(offered, 0u);
  store.lose_claims();
  run(40);
  EXPECT_EQ(daemon_->live.sizes().claims, 1u);
  EXPECT_GT(job.offered.size(), offered);
  EXPECT_LT(time_of(job.config()), time_of(ScheduleConfig{}));
}

TEST_F(SharedStoreTest, WhoLosesTheClaimToAnotherDaemonTriesNothingMore) {
  FaultyStore store(*store_, 0);
  daemon_ = std::make_unique<Assembled>(store, clock_);
  const SimulatedJob& first = add_job("a");
  const SimulatedJob& second = add_other_job("b");
  run_both(4);
  ASSERT_FALSE(first.offered.empty());
  ASSERT_TRUE(second.offered.empty());
  store.lose_claims(true);
  run_both(1);
  const auto offered = first.offered.size();
  run_both(20);
  EXPECT_EQ(first.offered.size(), offered);
  EXPECT_FALSE(second.offered.empty());
  EXPECT_EQ(other_->live.sizes().claims, 1u);
}

TEST_F(SharedStoreTest, WithoutItsStoreADaemonServesWhatItKnows) {
  FaultyStore store(*store_, 0);
  daemon_ = std::make_unique<Assembled>(store, clock_);
  SimulatedJob& job = add_job("a", 0);
  run(2);
  const std::int64_t version = push(1 << 20);
  run(6);
  ASSERT_EQ(job.version(), version);
  EXPECT_TRUE(daemon_->live.reaches_store());
  store.set_locked(true);
  daemon_->tick();
  EXPECT_FALSE(daemon_->live.reaches_store());
  const ServiceResponse ready = daemon_->call("GET", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(*ready.body, testing::HasSubstr("degraded"));
  EXPECT_EQ(daemon_->ask("GET", "/v1/configs/" + sample_key())["version"], version);
  EXPECT_EQ(resolve()["version"], version);
  EXPECT_EQ(daemon_->call("GET", "/v1/configs").status, 503);
  store.set_locked(false);
  daemon_->tick();
  EXPECT_TRUE(daemon_->live.reaches_store());
  EXPECT_EQ(daemon_->call("GET", "/readyz").status, 200);
}

}  // namespace
}  // namespace hocket
