// Tests processes that share a store on PostgreSQL: transactions at once, claims, and
// notifications.

#include <gmock/gmock.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "store/open.h"
#include "store/postgres/session.h"
#include "tests/store/fixtures.h"
#include "tests/store/postgres/heard_changes.h"
#include "tests/store/postgres/server.h"
#include "tests/store/processes.h"

namespace hocket {
namespace {

using testing::ElementsAre;

constexpr int kPatientMs = 60'000, kProcesses = 4;
constexpr std::int64_t kHourNs = 3'600'000'000'000;

class SharedPostgres : public testing::Test {
 protected:
  SharedPostgres() {
    must(store_->upsert_topology(sample_topology()));
    must(store_->upsert_workload(sample_workload()));
    must(store_->create_study(sample_study()));
  }

  /// Runs `work(store)` in several processes at once; each must return 0.
  template <class Work>
  void in_processes(const Work& work) {
    Pipe gate;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(start_process([&] {
        gate.close_write();
        const auto store = open_store(place_, {.busy_timeout_ms = kPatientMs});
        char byte;
        (void)!read(gate.ends[0], &byte, 1);  // blocks until the parent opens the gate
        return worked(store) ? work(**store) : 99;
      }));
    }
    gate.close_write();
    for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
  }

  static NewPromotion push(int streams, PromotionStage stage = PromotionStage::released) {
    return {.topology_id = 1,
            .workload_id = 1,
            .config = {{"pull_credit_bytes", streams}, {"credit_bytes", (1 << 20) + getpid()}},
            .origin = PromotionOrigin::push,
            .stage = stage};
  }

  std::unique_ptr<postgres::Session> session() const {
    return must(postgres::Session::connect({.libpq = must(postgres::open_libpq()),
                                            .uri = place_,
                                            .shown = "it",
                                            .busy_timeout_ms = kPatientMs}));
  }

  PostgresServer& server_ = PostgresServer::shared();
  const std::string place_ = server_.new_schema();
  const std::unique_ptr<Store> store_ = must(open_store(place_));
  const ConfigKey key_{fingerprint(sample_topology()), fingerprint(sample_workload())};
};

TEST_F(SharedPostgres, TrialsAreNumberedWithoutGapsOrDuplicates) {
  constexpr int kTrials = 15;
  in_processes([](Store& store) {
    for (int t = 0; t < kTrials; ++t) {
      const auto trial = store.start_trial({1, {}, {{"x", t}}});
      if (!worked(trial)) return 1;
      if (!worked(store.finish_trial(trial->id, sample_result(t)))) return 2;
    }
    return 0;
  });
  const auto trials = must(store_->trials(1, TrialDetail::with_measurements));
  ASSERT_EQ(trials.size(), static_cast<std::size_t>(kProcesses * kTrials));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].number, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(trials[i].state, TrialState::complete);
    EXPECT_EQ(trials[i].measurements.size(), 2u);
  }
}

TEST_F(SharedPostgres, LeasesExpireOnceEach) {
  constexpr int kTrials = 60;
  for (int t = 0; t < kTrials; ++t) must(store_->start_trial({1, {}, {{"x", t}}, "w", 0}));
  must(store_->start_trial({1, {}, {{"x", 0}}, "w", kHourNs}));
  Pipe counts;
  in_processes([&](Store& store) {
    std::int64_t removed = 0;
    for (int i = 0; i < 10; ++i) {
      const auto count = store.expire_leases(1);
      if (!worked(count)) return 1;
      removed += *count;
    }
    return write(counts.ends[1], &removed, sizeof removed) == sizeof removed ? 0 : 2;
  });
  counts.close_write();
  std::int64_t sum = 0, removed = 0;
  while (read(counts.ends[0], &removed, sizeof removed) == sizeof removed) sum += removed;
  EXPECT_EQ(sum, kTrials);
  EXPECT_EQ(must(store_->trials(1, TrialDetail::summary)).size(), 1u);
}

TEST_F(SharedPostgres, ExpiryDoesNotWaitForATrialThatAnotherHolds) {
  for (int t = 0; t < 5; ++t) must(store_->start_trial({1, {}, {{"x", t}}, "w", 0}));
  const auto other = session();
  must(other->execute("BEGIN"));
  must(other->execute("SELECT * FROM trials WHERE id = 3 FOR UPDATE"));
  must(other->execute("SELECT * FROM studies WHERE id = 1 FOR NO KEY UPDATE"));
  const auto impatient = must(open_store(place_, {.busy_timeout_ms = 50}));
  EXPECT_EQ(must(impatient->expire_leases(1)), 4);
  EXPECT_EQ(must(impatient->expire_leases(1)), 0);
  must(other->execute("COMMIT"));
  EXPECT_EQ(must(impatient->expire_leases(1)), 1);
}

TEST_F(SharedPostgres, AClaimTakesTheNextTrialWhileAnotherProcessHoldsTheFirst) {
  for (int t = 0; t < 2; ++t) must(store_->start_trial({.study_id = 1, .is_offered = true}));
  const auto other = session();
  must(other->execute("BEGIN"));
  must(other->execute("SELECT * FROM studies WHERE id = 1 FOR KEY SHARE"));
  must(other->execute("SELECT * FROM trials WHERE id = 1 FOR UPDATE"));
  const auto impatient = must(open_store(place_, {.busy_timeout_ms = 50}));
  EXPECT_EQ(must(impatient->claim_trial(1, {"a", "host", kHourNs}))->number, 2);
  EXPECT_EQ(must(impatient->claim_trial(1, {"b", "host", kHourNs})), std::nullopt);
  must(other->execute("COMMIT"));
  EXPECT_EQ(must(impatient->claim_trial(1, {"b", "host", kHourNs}))->number, 1);
}

TEST_F(SharedPostgres, OfferingLostTrialsDoesNotWaitForOneThatAnotherHolds) {
  for (int t = 0; t < 2; ++t) {
    must(store_->start_trial({.study_id = 1, .is_offered = true}));
    must(store_->claim_trial(1, {"w" + std::to_string(t), "host", 0}));
  }
  const auto other = session();
  must(other->execute("BEGIN"));
  must(other->execute("SELECT * FROM studies WHERE id = 1 FOR NO KEY UPDATE"));
  must(other->execute("SELECT * FROM workers WHERE name = 'w1' FOR UPDATE"));
  must(other->execute("SELECT * FROM trials WHERE id = 2 FOR UPDATE"));
  const auto impatient = must(open_store(place_, {.busy_timeout_ms = 50}));
  EXPECT_EQ(must(impatient->offer_lost_trials(1)), 1);
  must(other->execute("COMMIT"));
  EXPECT_EQ(must(impatient->offer_lost_trials(1)), 1);
  EXPECT_EQ(must(impatient->offer_lost_trials(1)), 0);
}

TEST_F(SharedPostgres, WorkersShareAStudyWhileLeasesExpire) {
  constexpr int kTrials = 15;
  in_processes([](Store& store) {
    for (int t = 0; t < kTrials; ++t) {
      // Every third lease ends at once, so any worker may remove its trial.
      const bool is_lost = t % 3 == 2;
      const auto trial = store.start_trial({1, {}, {{"x", t}}, "w", is_lost ? 0 : kHourNs});
      if (!worked(trial)) return 1;
      if (!worked(store.expire_leases(1))) return 2;
      // Another process may be removing it at this moment; it is gone once that has ended.
      if (is_lost && store.finish_trial(trial->id, sample_result(t))) return 3;
      if (!is_lost && !worked(store.finish_trial(trial->id, sample_result(t)))) return 4;
    }
    return 0;
  });
  std::set<std::int64_t> numbers;
  const auto trials = must(store_->trials(1, TrialDetail::summary));
  for (const auto& trial : trials) {
    numbers.insert(trial.number);
    EXPECT_EQ(trial.state, TrialState::complete);
  }
  EXPECT_EQ(trials.size(), static_cast<std::size_t>(kProcesses * kTrials * 2 / 3));
  EXPECT_EQ(numbers.size(), trials.size());
}

TEST_F(SharedPostgres, PromotionsAtOnceFollowOneAnotherInTheAudit) {
  constexpr int kPromotions = 10;
  in_processes([](Store& store) {
    for (int i = 0; i < kPromotions; ++i) {
      const auto row = store.promote(push(i, PromotionStage::staged));
      if (!worked(row)) return 1;
      if (!worked(store.set_stage(row->id, PromotionStage::released, "a", ""))) return 2;
      if (!worked(store.promote(push(100 + i)))) return 3;
    }
    return 0;
  });
  const auto versions = must(store_->promotions({}));
  EXPECT_EQ(versions.size(), static_cast<std::size_t>(2 * kProcesses * kPromotions));
  // The version that was current before a change is the one that the last change made current.
  nlohmann::json current;
  std::int64_t last_id = 0;
  for (const auto& entry : must(store_->audit({}))) {
    EXPECT_GT(entry.id, last_id);
    last_id = entry.id;
    if (!entry.detail.contains("old")) continue;
    EXPECT_EQ(entry.detail.at("old"), current) << entry.id;
    if (entry.detail.at("stage") == "released") current = entry.detail.at("new");
  }
  EXPECT_EQ(must(store_->current_promotion(key_.topology, key_.workload))->config, current);
}

TEST_F(SharedPostgres, StudiesAndProfilesMadeAtOnceHaveNamesAndIdsOfTheirOwn) {
  in_processes([](Store& store) {
    for (int i = 0; i < 10; ++i) {
      if (!worked(store.create_study(sample_study()))) return 1;
      if (!worked(store.add_profile({.source = "host"}))) return 2;
      if (!worked(store.upsert_workload(sample_workload("w" + std::to_string(i))))) return 3;
    }
    return 0;
  });
  std::set<std::string> studies, profiles;
  for (const auto& row : must(store_->studies())) studies.insert(row.name);
  for (const auto& row : must(store_->profiles())) profiles.insert(row.name);
  EXPECT_EQ(studies.size(), 41u);
  EXPECT_EQ(profiles.size(), 40u);
  EXPECT_EQ(must(store_->workloads("")).size(), 11u);
}

TEST_F(SharedPostgres, ARequestIsTakenByOneJob) {
  for (int i = 0; i < 20; ++i) must(store_->request_profile({"job", 1, ""}));
  Pipe taken;
  in_processes([&](Store& store) {
    for (;;) {
      const auto row = store.take_profile_request("id" + std::to_string(getpid()), "job", kHourNs);
      if (!worked(row)) return 1;
      // One that another job is taking is passed over, so nothing may be left without being last.
      if (!*row) return 0;
      if (write(taken.ends[1], &(*row)->id, sizeof(std::int64_t)) != sizeof(std::int64_t)) return 2;
    }
  });
  taken.close_write();
  std::set<std::int64_t> ids;
  std::int64_t id = 0, count = 0;
  while (read(taken.ends[0], &id, sizeof id) == sizeof id) {
    ids.insert(id);
    ++count;
  }
  while (const auto left = must(store_->take_profile_request("own", "job", kHourNs))) {
    ids.insert(left->id);
    ++count;
  }
  EXPECT_EQ(count, 20);
  EXPECT_EQ(ids.size(), 20u);
}

TEST_F(SharedPostgres, AClaimOfAProcessThatIsKilledIsFree) {
  Pipe told;
  const pid_t child = start_process([&] {
    const auto store = open_store(place_);
    if (!worked(store)) return 1;
    const auto claim = (*store)->claim_key(1, 1);
    if (!worked(claim) || !*claim) return 2;
    if (write(told.ends[1], "x", 1) != 1) return 3;
    for (;;) pause();
  });
  told.close_write();
  char byte;
  ASSERT_EQ(read(told.ends[0], &byte, 1), 1);
  EXPECT_EQ(must(store_->claim_key(1, 1)), nullptr);
  ::kill(child, SIGKILL);
  EXPECT_EQ(exit_status(child), 128 + SIGKILL);
  std::unique_ptr<KeyClaim> claim;
  while (!claim) claim = must(store_->claim_key(1, 1));  // until the server has noticed
  EXPECT_TRUE(claim->is_held());
  const auto other = must(open_store(place_));
  EXPECT_EQ(must(other->claim_key(1, 1)), nullptr);
  claim.reset();
  EXPECT_TRUE(must(other->claim_key(1, 1)));
}

TEST_F(SharedPostgres, ClaimsOfTwoSchemasAreApart) {
  const auto other = must(open_store(server_.new_schema()));
  must(other->upsert_topology(sample_topology()));
  must(other->upsert_workload(sample_workload()));
  const auto claim = must(store_->claim_key(1, 1));
  EXPECT_TRUE(claim);
  EXPECT_TRUE(must(other->claim_key(1, 1)));
}

TEST_F(SharedPostgres, AClaimIsLostWithItsConnection) {
  auto claim = must(store_->claim_key(1, 1));
  EXPECT_TRUE(claim->is_held());
  server_.sql("public",
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
              "WHERE pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')");
  const auto other = must(open_store(place_));
  std::unique_ptr<KeyClaim> taken;
  while (!taken) taken = must(other->claim_key(1, 1));
  EXPECT_FALSE(claim->is_held());
  EXPECT_FALSE(claim->is_held()) << "it stays lost";
  // To give back what is lost changes nothing of what another one has.
  claim.reset();
  EXPECT_TRUE(taken->is_held());
  EXPECT_EQ(must(store_->claim_key(1, 1)), nullptr);
}

TEST_F(SharedPostgres, ListenersHearOfChangesOfAllProcesses) {
  HeardChanges heard;
  const auto listener = must(store_->listen(heard.callback()));
  EXPECT_EQ(exit_status(start_process([&] {
              const auto store = open_store(place_);
              if (!worked(store)) return 1;
              if (!worked((*store)->promote(push(1, PromotionStage::staged)))) return 2;
              if (!worked((*store)->set_stage(1, PromotionStage::released, "", ""))) return 3;
              if (!worked((*store)->set_stage(1, PromotionStage::released, "", ""))) return 4;
              return worked((*store)->set_key_state(1, 1, {.frozen = true}, "")) ? 0 : 5;
            })),
            0);
  must(store_->promote(push(2)));
  EXPECT_FALSE(store_->promote({.topology_id = 9, .workload_id = 1}));
  must(store_->set_stage(2, PromotionStage::withdrawn, "", ""));
  EXPECT_THAT(heard.first(5),
              ElementsAre(KeyChange{key_, 1, PromotionStage::staged},
                          KeyChange{key_, 1, PromotionStage::released}, KeyChange{key_, {}, {}},
                          KeyChange{key_, 2, PromotionStage::released},
                          KeyChange{key_, 2, PromotionStage::withdrawn}));
}

TEST_F(SharedPostgres, ListenersHearOfTheirOwnSchemaAlone) {
  HeardChanges heard;
  const auto other = must(open_store(server_.new_schema()));
  must(other->upsert_topology(sample_topology(8)));
  must(other->upsert_workload(sample_workload()));
  const auto listener = must(store_->listen(heard.callback()));
  must(other->promote(push(1)));
  must(store_->promote(push(2)));
  EXPECT_THAT(heard.first(1), ElementsAre(KeyChange{key_, 1, PromotionStage::released}));
}

TEST_F(SharedPostgres, AListenerEndsWhenItIsDestroyed) {
  HeardChanges heard;
  auto listener = must(store_->listen(heard.callback()));
  listener.reset();
  must(store_->promote(push(1)));
  EXPECT_TRUE(heard.all().empty());
}

TEST_F(SharedPostgres, AChangeByAnotherProcessChangesTheCount) {
  for (const bool read_only : {false, true}) {
    const auto store = must(open_store(place_, {.read_only = read_only}));
    const auto before = must(store->change_count());
    EXPECT_EQ(must(store->change_count()), before);
    must(store_->promote(push(1)));
    EXPECT_NE(must(store->change_count()), before);
  }
}

}  // namespace
}  // namespace hocket
