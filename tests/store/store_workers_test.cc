// Tests workers that share the trials of a study: offers, claims, and what happens to the trials of
// lost workers.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "store/sql/open_database.h"
#include "store/sql/sql_store.h"
#include "tests/rounds.h"
#include "tests/store/failing_database.h"
#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLeaseNs = 100;

class StoreWorkers : public StoreFixture {
 protected:
  static NewClaim as(const std::string& worker, std::int64_t lease_ns = kLeaseNs) {
    return {worker, "host-of-" + worker, lease_ns};
  }

  TrialRow offer(const std::string& wanted = "") {
    return must(store_->start_trial(
        {.study_id = study_.id, .params = {{"x", 1}}, .worker = wanted, .is_offered = true}));
  }

  /// Returns the number of the trial that the worker is given; 0 if it gets none.
  std::int64_t claim(const std::string& worker, std::int64_t lease_ns = kLeaseNs) {
    const auto row = must(store_->claim_trial(study_.id, as(worker, lease_ns)));
    return row ? row->number : 0;
  }

  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& row : must(store_->workers(study_.id))) names.push_back(row.name);
    return names;
  }

  Result<void> finish(const TrialRow& trial, const std::string& worker, double value = 1) {
    return store_->finish_trial(trial.id, sample_result(value), worker);
  }

  std::int64_t updated_at_ns() { return must(store_->study(study_.name)).updated_at_ns; }

  const StudyRow study_ = new_study();
};

TEST_F(StoreWorkers, AnOfferedTrialIsRunningAndNobodyHasIt) {
  const auto row = must(store_->start_trial({.study_id = study_.id,
                                             .params = {{"x", 1}},
                                             .worker = "wanted",
                                             .lease_ns = 5,
                                             .is_offered = true}));
  EXPECT_EQ(row.state, TrialState::running);
  EXPECT_TRUE(row.is_offered);
  EXPECT_EQ(row.worker, "wanted");
  EXPECT_EQ(row.lease_until_ns, std::nullopt);
  EXPECT_EQ(row.losses, 0);
  EXPECT_EQ(trial(row), row);
  EXPECT_FALSE(new_trial(study_.id).is_offered);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(StoreWorkers, TrialsAreClaimedInTheOrderOfTheirNumbers) {
  const auto first = offer(), second = offer();
  new_trial(study_.id);
  now_ns_ += 7;
  TrialRow expected = first;
  expected.is_offered = false;
  expected.worker = "a";
  expected.lease_until_ns = now_ns_ + kLeaseNs;
  EXPECT_EQ(must(store_->claim_trial(study_.id, as("a"))), expected) << "its start stays";
  EXPECT_EQ(trial(first), expected);
  EXPECT_EQ(updated_at_ns(), now_ns_);
  EXPECT_EQ(claim("b"), second.number);
  now_ns_ += 1;
  EXPECT_EQ(claim("c"), 0) << "the third is the study's own";
  EXPECT_EQ(updated_at_ns(), now_ns_ - 1) << "nothing has changed in the study";
  must(finish(first, "a"));
  EXPECT_EQ(trial(first).worker, "a");
  must(finish(first, "a"));
}

TEST_F(StoreWorkers, OnlyTrialsOfTheStudyAreClaimed) {
  const auto other = new_study();
  must(store_->start_trial({.study_id = other.id, .is_offered = true}));
  EXPECT_EQ(claim("a"), 0);
  EXPECT_THAT(must(store_->workers(other.id)), IsEmpty());
  must(store_->claim_trial(other.id, as("a")));
  offer();
  EXPECT_EQ(claim("a"), 1) << "the trial of the other study is not given back";
  EXPECT_EQ(must(store_->trials(other.id, TrialDetail::summary)).front().losses, 0);
}

TEST_F(StoreWorkers, WorkersAreThoseWithALeaseInTheOrderOfJoining) {
  must(store_->renew_worker(study_.id, as("z", 10)));
  now_ns_ += 5;
  must(store_->renew_worker(study_.id, as("b")));
  must(store_->renew_worker(study_.id, as("a")));
  EXPECT_EQ(must(store_->workers(study_.id)).front(),
            (WorkerRow{"z", "host-of-z", now_ns_ - 5, now_ns_ + 5}));
  EXPECT_THAT(names(), ElementsAre("z", "a", "b"));
  now_ns_ += 4;
  EXPECT_THAT(names(), ElementsAre("z", "a", "b"));
  must(store_->renew_worker(study_.id, {"a", "moved", 3}));
  EXPECT_EQ(must(store_->workers(study_.id)).at(1), (WorkerRow{"a", "moved", 1'005, now_ns_ + 3}))
      << "when it joined stays";
  now_ns_ += 1;
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(StoreWorkers, AWantedWorkerAloneMayHaveTheTrialWhileItIsThere) {
  must(store_->renew_worker(study_.id, as("wanted", 50)));
  const auto bound = offer("wanted"), free = offer();
  EXPECT_EQ(claim("a"), free.number);
  EXPECT_EQ(claim("b"), 0);
  EXPECT_EQ(claim("wanted", 50), bound.number);
}

TEST_F(StoreWorkers, AWantedWorkerThatIsNotThereDoesNotBind) {
  const auto never_there = offer("never there");
  EXPECT_EQ(claim("a"), never_there.number);
  must(store_->renew_worker(study_.id, as("wanted", 10)));
  const auto bound = offer("wanted");
  now_ns_ += 9;
  EXPECT_EQ(claim("b"), 0);
  now_ns_ += 1;
  EXPECT_EQ(claim("b"), bound.number) << "its lease has ended";
  must(store_->renew_worker(study_.id, as("wanted")));
  const auto other = new_study();
  must(store_->renew_worker(other.id, as("elsewhere")));
  const auto unbound = offer("elsewhere");
  EXPECT_EQ(claim("d"), unbound.number) << "it is a worker of another study";
  const auto left = offer("wanted");
  EXPECT_EQ(claim("c"), 0);
  must(store_->leave_worker(study_.id, "wanted", /*is_lost=*/false));
  EXPECT_EQ(claim("c"), left.number);
}

TEST_F(StoreWorkers, AWorkerThatWasStartedAnewGivesItsTrialBackFirst) {
  const auto first = offer(), second = offer();
  EXPECT_EQ(claim("a"), first.number);
  EXPECT_EQ(claim("b"), second.number);
  EXPECT_EQ(claim("a"), first.number);
  EXPECT_EQ(trial(first).losses, 1);
  EXPECT_EQ(trial(second).losses, 0) << "another worker's stays";
  const auto earlier = trial(first);
  must(finish(second, "b"));
  EXPECT_EQ(claim("b"), 0) << "an ended trial is not given back";
  EXPECT_EQ(trial(second).losses, 0);
  EXPECT_EQ(trial(first), earlier);
}

TEST_F(StoreWorkers, ATrialOfALostWorkerIsOfferedAgainAndItsLateResultIsRefused) {
  const auto row = offer(), own = new_trial(study_.id), waiting = offer("a");
  EXPECT_EQ(claim("a"), row.number);
  now_ns_ += kLeaseNs - 1;
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 0);
  EXPECT_EQ(updated_at_ns(), 1'000);
  EXPECT_EQ(trial(row).worker, "a");
  now_ns_ += 1;
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 1);
  EXPECT_EQ(updated_at_ns(), now_ns_);
  TrialRow expected = row;
  expected.losses = 1;
  EXPECT_EQ(trial(row), expected) << "as it was offered, but for the loss";
  EXPECT_EQ(trial(own), own);
  EXPECT_EQ(trial(waiting), waiting);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 0);

  const auto expect_late = [&] {
    const auto late = finish(row, "a", 5);
    EXPECT_EQ(code_of(late), ErrorCode::not_found);
    EXPECT_THAT(message_of(late), AllOf(HasSubstr("\"a\" has lost its lease on trial 1"),
                                        HasSubstr("was given back")));
  };
  expect_late();
  EXPECT_EQ(trial(row), expected);
  EXPECT_EQ(claim("b"), row.number);
  expect_late();
  must(finish(row, "b", 3));
  expect_late();
  EXPECT_EQ(trial(row).value, 3);
  EXPECT_EQ(trial(row).worker, "b");
  EXPECT_EQ(trial(row).losses, 1);
}

TEST_F(StoreWorkers, AWantedWorkerHasNotClaimedYet) {
  const auto row = offer("a");
  EXPECT_EQ(code_of(finish(row, "a")), ErrorCode::not_found);
  EXPECT_EQ(trial(row), row);
}

TEST_F(StoreWorkers, ALeaseThatHasEndedCountsUntilTheTrialIsOfferedAgain) {
  const auto row = offer();
  EXPECT_EQ(claim("a"), row.number);
  now_ns_ += kLeaseNs;
  must(finish(row, "a"));
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 0);
}

TEST_F(StoreWorkers, ARenewalKeepsTheWorkerAndItsTrial) {
  const auto row = offer(), other = offer();
  EXPECT_EQ(claim("a"), row.number);
  EXPECT_EQ(claim("b", 300), other.number);
  now_ns_ += kLeaseNs - 1;
  must(store_->renew_worker(study_.id, as("a", 200)));
  now_ns_ += 199;
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 0);
  EXPECT_EQ(trial(row).lease_until_ns, now_ns_ + 1);
  EXPECT_EQ(trial(other).lease_until_ns, 1'300);
  now_ns_ += 1;
  EXPECT_EQ(must(store_->offer_lost_trials(study_.id)), 1);
  must(store_->renew_worker(study_.id, as("a")));
  EXPECT_EQ(trial(row).worker, "") << "what is lost stays lost";
  EXPECT_EQ(trial(row).lease_until_ns, std::nullopt);
  EXPECT_THAT(names(), ElementsAre("b", "a"));
}

TEST_F(StoreWorkers, ARenewalLeavesTheTrialThatWaitsForTheWorker) {
  const auto row = offer("a");
  must(store_->renew_worker(study_.id, as("a")));
  EXPECT_EQ(trial(row), row);
}

TEST_F(StoreWorkers, AWorkerThatLeavesGivesItsTrialsBack) {
  for (const bool is_lost : {false, true}) {
    const auto row = offer(), kept = offer(), own = new_trial(study_.id);
    EXPECT_EQ(claim("a"), row.number);
    EXPECT_EQ(claim("b"), kept.number);
    now_ns_ += 1;
    must(store_->leave_worker(study_.id, "a", is_lost));
    TrialRow expected = row;
    expected.losses = is_lost ? 1 : 0;
    EXPECT_EQ(trial(row), expected);
    EXPECT_EQ(trial(kept).worker, "b");
    EXPECT_EQ(trial(own), own);
    EXPECT_THAT(names(), ElementsAre("b"));
    EXPECT_EQ(updated_at_ns(), now_ns_);
    now_ns_ += 1;
    must(store_->leave_worker(study_.id, "a", is_lost));
    EXPECT_EQ(updated_at_ns(), now_ns_ - 1);
    EXPECT_EQ(trial(row), expected) << "an unknown worker has no effect";
    must(store_->finish_trial(row.id, sample_result(1)));
    must(store_->finish_trial(kept.id, sample_result(1)));
  }
}

TEST_F(StoreWorkers, TheOwnerEndsATrialThatIsOffered) {
  const auto row = offer("wanted");
  TrialOutcome lost{.message = "its worker was lost 3 times"};
  must(store_->finish_trial(row.id, lost));
  must(store_->finish_trial(row.id, lost));
  EXPECT_EQ(trial(row).state, TrialState::failed);
  EXPECT_FALSE(trial(row).is_offered);
  EXPECT_EQ(trial(row).worker, "") << "nobody has run it";
  EXPECT_EQ(claim("wanted"), 0);
  const auto database = must(sql::open_database(place_.store(), {.read_only = true}));
  must(database->begin(sql::Database::Access::read));
  EXPECT_EQ(must(database->integer("SELECT count(*) FROM trials WHERE offered = 1")), 0);
  database->rollback();
}

TEST_F(StoreWorkers, AnOfferedTrialHasNoLease) {
  const auto row = offer();
  const auto renewed = store_->renew_lease(row.id, 5);
  EXPECT_EQ(code_of(renewed), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(renewed), HasSubstr("trial 1 waits for a worker"));
  now_ns_ += 1'000;
  EXPECT_EQ(must(store_->expire_leases(study_.id)), 0);
  EXPECT_EQ(trial(row), row);
  EXPECT_EQ(must(store_->abandon_running_trials(study_.id)), 1);
}

TEST_F(StoreWorkers, TheWorkersOfARemovedStudyGoWithIt) {
  offer();
  EXPECT_EQ(claim("a"), 1);
  must(store_->remove_study(study_.id, study_.owner, "ada"));
  EXPECT_EQ(code_of(store_->workers(study_.id)), ErrorCode::not_found);
  EXPECT_TRUE(place_.check());
}

TEST_F(StoreWorkers, AnUnknownStudyIsNotFound) {
  const auto expect_not_found = [](const auto& result) {
    EXPECT_EQ(code_of(result), ErrorCode::not_found);
    EXPECT_THAT(message_of(result), HasSubstr("no study with id 77"));
  };
  expect_not_found(store_->workers(77));
  expect_not_found(store_->claim_trial(77, as("a")));
  expect_not_found(store_->renew_worker(77, as("a")));
  expect_not_found(store_->leave_worker(77, "a", true));
  expect_not_found(store_->offer_lost_trials(77));
}

TEST_F(StoreWorkers, RefusesNamesThatNoWorkerHas) {
  const auto own = new_trial(study_.id);
  for (const std::string& bad :
       {std::string(), std::string(256, 'x'), std::string("\xff"), std::string("a\0b", 3)}) {
    EXPECT_EQ(code_of(store_->claim_trial(study_.id, as(bad))), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->renew_worker(study_.id, as(bad))), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->leave_worker(study_.id, bad, true)), ErrorCode::invalid_argument);
  }
  EXPECT_THAT(message_of(store_->claim_trial(study_.id, as(""))),
              HasSubstr("a worker's name has 1 to 255 bytes, this one has 0"));
  EXPECT_THAT(message_of(store_->claim_trial(study_.id, {"a", "\xff", 1})),
              HasSubstr("the worker's host cannot be stored"));
  EXPECT_EQ(trial(own), own);
  EXPECT_THAT(names(), IsEmpty());
  must(store_->renew_worker(study_.id, as(std::string(255, 'x'))));
}

TEST_F(StoreWorkers, AFaultLeavesNothingChanged) {
  offer();
  offer("b");
  offer();
  EXPECT_EQ(claim("a"), 1);
  EXPECT_EQ(claim("b", 1), 2);
  now_ns_ += 1;  // the lease of b has ended
  const auto state = [&] {
    return std::tuple(must(store_->trials(study_.id, TrialDetail::with_measurements)),
                      must(store_->workers(study_.id)), must(store_->study(study_.name)));
  };
  using Call = std::function<Result<void>(Store&)>;
  const auto none = [](const auto&) {};
  const std::map<std::string, Call> calls = {
      {"claim", [&](Store& s) { return s.claim_trial(study_.id, as("a")).map(none); }},
      {"claim of a new worker",
       [&](Store& s) { return s.claim_trial(study_.id, as("c")).map(none); }},
      {"renew", [&](Store& s) { return s.renew_worker(study_.id, as("a", 900)); }},
      {"leave", [&](Store& s) { return s.leave_worker(study_.id, "a", true); }},
      {"offer", [&](Store& s) { return s.offer_lost_trials(study_.id).map(none); }},
      {"finish", [&](Store& s) { return s.finish_trial(1, sample_result(1), "a"); }}};
  for (const auto& [name, call] : calls) {
    const auto before = state();
    for (int statement = 1; statement <= 3; ++statement) {
      SCOPED_TRACE(name + ", statement " + std::to_string(statement));
      sql::SqlStore failing(std::make_unique<sql::FailingDatabase>(
                                must(sql::open_database(place_.store(), {})), statement),
                            [this] { return now_ns_; });
      EXPECT_EQ(code_of(call(failing)), ErrorCode::unavailable);
      EXPECT_TRUE(state() == before);
    }
    sql::SqlStore failing(
        std::make_unique<sql::FailingDatabase>(must(sql::open_database(place_.store(), {})), 0),
        [this] { return now_ns_; });
    EXPECT_EQ(code_of(call(failing)), ErrorCode::unavailable) << name << ", the commit";
    EXPECT_TRUE(state() == before);
  }
}

/// Workers that run at once, each with a store of its own.
class WorkersAtOnce {
 public:
  WorkersAtOnce(std::string place, std::int64_t study_id, int workers, unsigned seed)
      : place_(std::move(place)), study_id_(study_id), workers_(workers), seed_(seed) {}

  /// Claims and ends trials until none is running. `loses` are those in a hundred that a worker
  /// does not end before it claims again.
  void run(unsigned loses) {
    std::vector<std::thread> threads;
    for (int i = 0; i < workers_; ++i) {
      threads.emplace_back([this, i, loses] { work(i, loses); });
    }
    for (auto& thread : threads) thread.join();
  }

  static std::string name(int worker) { return "w" + std::to_string(worker); }
  const std::map<std::int64_t, int>& claims() const { return claims_; }
  std::int64_t losses() const { return losses_; }

 private:
  void work(int number, unsigned loses) {
    std::mt19937 random(seed_ * 31 + static_cast<unsigned>(number));
    const auto store =
        must(open_store(place_, {.busy_timeout_ms = 60'000, .now_unix_ns = [] { return 1'000; }}));
    const NewClaim claim{name(number), "host", 1'000};
    for (;;) {
      const auto trial = must(store->claim_trial(study_id_, claim));
      if (!trial) {
        const auto rows = must(store->trials(study_id_, TrialDetail::summary));
        const auto is_running = [](const auto& row) { return row.state == TrialState::running; };
        if (std::ranges::none_of(rows, is_running)) return;
        continue;
      }
      {
        const std::lock_guard lock(mutex_);
        ++claims_[trial->id];
      }
      if (random() % 3 == 0) must(store->renew_worker(study_id_, claim));
      if (random() % 5 == 0) must(store->offer_lost_trials(study_id_));
      if (random() % 100 < loses) {
        losses_ += 1;
        if (random() % 2 == 0) must(store->leave_worker(study_id_, claim.worker, true));
        continue;
      }
      must(store->finish_trial(trial->id, sample_result(number), claim.worker));
    }
  }

  const std::string place_;
  const std::int64_t study_id_;
  const int workers_;
  const unsigned seed_;
  std::mutex mutex_;
  std::map<std::int64_t, int> claims_;  // guarded by mutex_
  std::atomic<std::int64_t> losses_ = 0;
};

TEST(StoreWorkersAtOnce, EachTrialIsOneWorkersAndTogetherTheyGetAll) {
  for (unsigned seed = 1; seed <= rounds(4); ++seed) {
    std::mt19937 random(seed);
    const unsigned loses = seed % 2 == 0 ? 20 : 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestPlace place;
    const auto store = must(open_store(place.store(), {.now_unix_ns = [] { return 1'000; }}));
    const auto study = must(store->create_study(sample_study()));
    const int workers = 2 + static_cast<int>(random() % 4);
    const int trials = 10 + static_cast<int>(random() % 30);
    for (int i = 0; i < trials; ++i) {
      const int wanted = static_cast<int>(random() % 8);
      must(store->start_trial({.study_id = study.id,
                               .worker = wanted < workers ? WorkersAtOnce::name(wanted) : "",
                               .is_offered = true}));
    }
    WorkersAtOnce at_once(place.store(), study.id, workers, seed);
    at_once.run(loses);

    std::int64_t losses = 0;
    int claimed_once = 0;
    for (const auto& row : must(store->trials(study.id, TrialDetail::with_measurements))) {
      EXPECT_EQ(row.state, TrialState::complete);
      EXPECT_FALSE(row.is_offered);
      EXPECT_EQ(row.worker, WorkersAtOnce::name(static_cast<int>(*row.value)));
      EXPECT_EQ(row.measurements.size(), 2u);
      EXPECT_EQ(at_once.claims().at(row.id), row.losses + 1) << "claimed again only when lost";
      losses += row.losses;
      claimed_once += at_once.claims().at(row.id) == 1;
    }
    EXPECT_EQ(losses, at_once.losses());
    if (loses == 0) {
      EXPECT_EQ(claimed_once, trials);
    }
    EXPECT_LE(must(store->workers(study.id)).size(), static_cast<std::size_t>(workers));
    EXPECT_TRUE(place.check());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hocket
