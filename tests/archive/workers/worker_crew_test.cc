#include "archive/workers/worker_crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "archive/studies/told_trial.h"
#include "tests/archive/workers/shared_study.h"
#include "tests/rounds.h"
#include "tests/set_clock.h"
#include "tests/store/faulty_store.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLeaseNs = 30 * kSecondNs;

class NoObserver final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t, TrialPhase, const Params&) override { return {}; }
  Result<void> trial_finished(const Trial&) override { return {}; }
  Result<void> search_stopped(const std::string&) override { return {}; }
};

/// The owner of a study, and workers that act while it waits.
class WorkerCrewTest : public ::testing::Test {
 protected:
  std::optional<TrialRow> claim(const std::string& worker) {
    auto trial = study_.store->claim_trial(study_.id(), {worker, "host", kLeaseNs}).value();
    if (trial) has_[worker] = *trial;
    return trial;
  }

  void finish(const std::string& worker) {
    const TrialRow trial = has_.extract(worker).mapped();
    const auto params = small_study_space().admit(params_from_json(trial.params).value()).value();
    const auto outcome = noisy_study_outcome(params, static_cast<std::size_t>(trial.number), 0.03);
    ASSERT_TRUE(study_.store->finish_trial(trial.id, outcome, worker));
  }

  /// Lets one of `workers`, chosen by `random`, do its next step.
  void step(const std::vector<std::string>& workers, std::mt19937_64& random) {
    const std::string& worker = workers[random() % workers.size()];
    if (has_.contains(worker)) return finish(worker);
    claim(worker);
  }

  WorkerCrew crew(InterruptibleWait wait, WorkerCrew::OnLook on_look = {}) {
    return {*study_.store, study_.open.study, clock_, cancel_, std::move(wait), std::move(on_look)};
  }

  Result<StudyResult> run(TrialCrew& crew, std::vector<Trial> history = {}) {
    NoObserver observer;
    return run_study(study_options(study_.definition), std::move(history), crew, observer, cancel_);
  }

  SharedStudy study_;
  SetClock clock_;
  CancelToken cancel_;
  std::map<std::string, TrialRow> has_;
};

TEST_F(WorkerCrewTest, WorkersRunAWholeStudyAndTheStoreSaysWhatItsSearchKnew) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    study_ = SharedStudy();
    has_.clear();
    std::mt19937_64 random(seed);
    auto crew = this->crew([&](std::int64_t) { step({"a", "b", "c"}, random); });
    const auto result = run(crew);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->promoted) << result->reason;
    const auto rows = study_.trials();
    EXPECT_EQ(rows.size(), result->trials.size());
    std::set<std::string> searched_by, confirmed_by;
    for (const TrialRow& row : rows) {
      EXPECT_EQ(row.state, TrialState::complete);
      EXPECT_EQ(row.losses, 0);
      (row.phase == TrialPhase::search ? searched_by : confirmed_by).insert(row.worker);
    }
    EXPECT_GE(searched_by.size(), 2u);
    EXPECT_EQ(confirmed_by.size(), 1u) << "pairs of one worker are compared";
    EXPECT_EQ(read_history(*study_.store, study_.id()).value(), result->trials);

    // A study that is resumed from the store runs nothing again.
    auto again = this->crew([](std::int64_t) { FAIL() << "waits for nothing"; });
    const auto resumed = run(again, read_history(*study_.store, study_.id()).value());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->reason, result->reason);
  }
}

TEST_F(WorkerCrewTest, TrialsThatEndTogetherAreAllKnownToWhatIsAskedNext) {
  const std::vector<std::string> workers{"a", "b", "c"};
  auto crew = this->crew([&](std::int64_t) {
    std::vector<std::string> busy;
    for (const auto& [worker, trial] : has_) busy.push_back(worker);
    for (const auto& worker : busy) finish(worker);
    for (const auto& worker : workers) claim(worker);
  });
  const auto result = run(crew);
  ASSERT_TRUE(result) << result.error().message;
  std::int64_t together = 0;
  for (const Trial& trial : result->trials) {
    if (trial.phase != TrialPhase::search || trial.began < 2) continue;
    EXPECT_EQ((trial.began - 1) % 3, 0) << trial.number;
    ++together;
  }
  EXPECT_GE(together, 6);
  EXPECT_EQ(read_history(*study_.store, study_.id()).value(), result->trials);
}

TEST_F(WorkerCrewTest, AResumedStudyTakesTrialsThatStillRun) {
  for (int stop_after = 1; stop_after <= 30; ++stop_after) {
    SCOPED_TRACE(stop_after);
    study_ = SharedStudy();
    has_.clear();
    std::mt19937_64 random(stop_after);
    const std::vector<std::string> workers{"a", "b", "c"};
    int steps = 0;
    auto first = crew([&](std::int64_t) { step(workers, random); },
                      [&](const auto&) -> Result<void> {
                        if (++steps <= stop_after) return {};
                        return failure(ErrorCode::interrupted, "stopped by the test");
                      });
    ASSERT_FALSE(run(first));
    const auto before = study_.trials();
    auto second = crew([&](std::int64_t) { step(workers, random); });
    const auto result = run(second, read_history(*study_.store, study_.id()).value());
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->promoted) << result->reason;
    std::set<Params> searched;
    for (const Trial& trial : result->trials) {
      if (trial.phase != TrialPhase::search) continue;
      EXPECT_TRUE(searched.insert(trial.params).second) << "a setting was searched twice";
    }
    EXPECT_EQ(searched.size(), 12u);
    const auto after = study_.trials();
    EXPECT_EQ(after.size(), result->trials.size()) << "a trial was run that nobody waited for";
    for (const TrialRow& row : before) {
      const auto same = std::ranges::find(after, row.id, &TrialRow::id);
      ASSERT_NE(same, after.end());
      EXPECT_EQ(same->params, row.params);
      EXPECT_EQ(same->losses, 0);
    }
  }
}

TEST_F(WorkerCrewTest, ATrialWhoseWorkerIsLostGoesToAnother) {
  std::mt19937_64 random(1);
  int claims = 0;
  auto crew = this->crew([&](std::int64_t) {
    // "dead" claims twice and is never heard of again.
    if (claims < 2 && !has_.contains("dead")) {
      if (claim("dead")) ++claims;
      return;
    }
    if (has_.erase("dead") > 0) *study_.now_ns += 2 * kLeaseNs;
    step({"alive"}, random);
  });
  const auto result = run(crew);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(claims, 2);
  std::int64_t losses = 0;
  for (const TrialRow& row : study_.trials()) {
    EXPECT_EQ(row.state, TrialState::complete);
    EXPECT_EQ(row.worker, "alive");
    losses += row.losses;
  }
  EXPECT_EQ(losses, 2);
}

TEST_F(WorkerCrewTest, ATrialWithWhichWorkersAreLostAgainAndAgainHasFailed) {
  std::mt19937_64 random(1);
  std::optional<std::int64_t> cursed;
  int lost = 0;
  auto crew = this->crew([&](std::int64_t) {
    if (!has_.contains("w")) {
      const auto trial = claim("w");
      if (trial && trial->number == 3) cursed = trial->id;
      return;
    }
    if (has_["w"].id != cursed) return finish("w");
    ++lost;
    has_.erase("w");
    *study_.now_ns += 2 * kLeaseNs;
  });
  const auto result = run(crew);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(lost, kMostLosses);
  EXPECT_EQ(result->trials[2].outcome.state, TrialState::failed);
  EXPECT_THAT(result->trials[2].outcome.message, HasSubstr("lost with its worker 3 times"));
  EXPECT_TRUE(result->promoted) << result->reason;
}

TEST_F(WorkerCrewTest, WaitsForWorkersAndTellsOfEachThatJoins) {
  std::mt19937_64 random(1);
  int waits = 0;
  std::set<std::size_t> seen;
  auto crew = this->crew(
      [&](std::int64_t ns) {
        EXPECT_GT(ns, 0);
        if (++waits < 5) return;
        step(waits < 20 ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"},
             random);
      },
      [&](const std::vector<WorkerRow>& workers) -> Result<void> {
        seen.insert(workers.size());
        return {};
      });
  ASSERT_TRUE(run(crew));
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 2}));
}

TEST_F(WorkerCrewTest, AStoreThatIsAwayForAWhileEndsNothing) {
  std::mt19937_64 random(1);
  FaultyStore faulty(*study_.store, 1 << 30);
  int waits = 0;
  WorkerCrew crew(faulty, study_.open.study, clock_, cancel_, [&](std::int64_t ns) {
    clock_.now += ns;
    ++waits;
    // Away for a minute at a time, in the middle of the waiting.
    faulty.set_locked(waits % 40 >= 20);
    step({"a", "b"}, random);
  });
  const auto result = run(crew);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GT(waits, 40);
}

TEST_F(WorkerCrewTest, WhatWasMeasuredWhileTheStoreWasAwayIsTaken) {
  FaultyStore faulty(*study_.store, 1 << 30);
  const TrialRow offered = study_.offer(study_.definition.space.defaults());
  ASSERT_TRUE(study_.store->claim_trial(study_.id(), {"w", "h", 30 * kSecondNs}).value());
  const std::int64_t begin_ns = clock_.now;
  int waits = 0;
  Result<void> kept = failure(ErrorCode::unavailable, "not tried");
  WorkerCrew crew(faulty, study_.open.study, clock_, cancel_, [&](std::int64_t ns) {
    clock_.now += ns;
    *study_.now_ns += ns;
    faulty.set_locked(clock_.now - begin_ns < 60 * kSecondNs);
    // The owner looks first.
    if (clock_.now - begin_ns >= 60 * kSecondNs && ++waits == 3)
      kept = study_.store->finish_trial(offered.id, complete_trial({5}), "w");
  });
  ASSERT_TRUE(crew.running());
  faulty.set_locked(true);
  const auto ended = crew.wait();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(kept) << kept.error().message;
  ASSERT_TRUE(*ended);
  EXPECT_EQ((*ended)->outcome.value, 5);
}

TEST_F(WorkerCrewTest, AStoreThatStaysAwayIsWaitedForAndSaidEveryMinute) {
  FaultyStore faulty(*study_.store, 1 << 30);
  const std::int64_t begin_ns = clock_.now;
  std::vector<std::string> said;
  WorkerCrew crew(
      faulty, study_.open.study, clock_, cancel_,
      [&](std::int64_t ns) {
        clock_.now += ns;
        faulty.set_locked(true);
        if (clock_.now - begin_ns >= 3'600 * kSecondNs) cancel_.cancel();
      },
      {}, [&](const std::string& why) { said.push_back(why); });
  const auto result = run(crew);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the store is locked");
  EXPECT_GE(said.size(), 58u);
  EXPECT_LE(said.size(), 61u);
  EXPECT_EQ(said.front(), "the store is locked");
}

TEST_F(WorkerCrewTest, AnyCallMayFailOnce) {
  bool is_any_left = true;
  for (int call = 1; is_any_left; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    study_ = SharedStudy();
    study_.definition.trials = 2;
    study_.definition.confirm_pairs = 0;
    has_.clear();
    FaultyStore faulty(*study_.store, call);
    WorkerCrew crew(faulty, study_.open.study, clock_, cancel_, [&](std::int64_t ns) {
      clock_.now += ns;
      if (!has_.contains("w")) {
        claim("w");
      } else if (has_["w"].number != 2) {
        finish("w");
      } else {
        has_.erase("w");
        *study_.now_ns += 2 * kLeaseNs;
      }
    });
    const auto result = run(crew);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->trials.size(), 2u);
    EXPECT_EQ(result->trials[1].outcome.state, TrialState::failed) << "it was lost too often";
    is_any_left = faulty.has_failed();
  }
}

TEST_F(WorkerCrewTest, AnOfferWhoseAnswerIsLostIsNotMadeAgain) {
  std::set<TrialPhase> lost;
  bool is_any_left = true;
  for (int offer = 1; is_any_left; ++offer) {
    SCOPED_TRACE("offer " + std::to_string(offer));
    study_ = SharedStudy();
    has_.clear();
    std::mt19937_64 random(offer);
    FaultyStore faulty(*study_.store, offer, FaultKind::lost_answer);
    faulty.count_started_trials();
    bool is_noted = false;
    WorkerCrew crew(faulty, study_.open.study, clock_, cancel_, [&](std::int64_t) {
      if (faulty.has_failed() && !std::exchange(is_noted, true)) {
        lost.insert(study_.trials().back().phase);
      }
      // Workers claim the offered trial, and may end it, before the store is there again.
      for (std::uint64_t i = 0; i < 1 + random() % 3; ++i) step({"a", "b"}, random);
    });
    const auto result = run(crew);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->promoted) << result->reason;
    EXPECT_EQ(study_.trials().size(), result->trials.size()) << "a trial was offered twice";
    auto again = this->crew([](std::int64_t) { FAIL() << "waits for nothing"; });
    const auto resumed = run(again, read_history(*study_.store, study_.id()).value());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->reason, result->reason);
    is_any_left = faulty.has_failed() && !HasFailure();
  }
  EXPECT_EQ(lost, (std::set{TrialPhase::search, TrialPhase::confirm}));
}

TEST_F(WorkerCrewTest, AStudyThatEndsWithAnOfferWhoseAnswerIsLostIsResumed) {
  bool is_any_left = true;
  for (int offer = 1; is_any_left; ++offer) {
    SCOPED_TRACE("offer " + std::to_string(offer));
    study_ = SharedStudy();
    has_.clear();
    std::mt19937_64 random(offer);
    FaultyStore faulty(*study_.store, offer, FaultKind::lost_answer);
    faulty.count_started_trials();
    CancelToken stop;
    WorkerCrew first(faulty, study_.open.study, clock_, stop, [&](std::int64_t) {
      if (faulty.has_failed()) stop.cancel();
      step({"a", "b"}, random);
    });
    is_any_left = !run(first);
    EXPECT_EQ(is_any_left, faulty.has_failed());
    auto second = crew([&](std::int64_t) { step({"a", "b"}, random); });
    const auto result = run(second, read_history(*study_.store, study_.id()).value());
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->promoted) << result->reason;
    EXPECT_EQ(study_.trials().size(), result->trials.size()) << "a trial was offered twice";
    if (HasFailure()) return;
  }
}

TEST_F(WorkerCrewTest, ATrialOfAnotherProcessIsNotTakenForAnOffer) {
  const Params defaults = small_study_space().defaults();
  const Params others{{"a", std::int64_t{1}}, {"b", std::int64_t{1}}};
  for (const auto& [params, phase] :
       {std::pair(defaults, TrialPhase::confirm), std::pair(others, TrialPhase::search)}) {
    SCOPED_TRACE(to_string(phase));
    study_ = SharedStudy();
    has_.clear();
    claim("a");
    FaultyStore faulty(*study_.store, 1);
    faulty.count_started_trials();
    CancelToken stop;
    bool has_intruded = false;
    WorkerCrew crew(faulty, study_.open.study, clock_, stop, [&](std::int64_t) {
      if (std::exchange(has_intruded, true)) return stop.cancel();
      study_.offer(params, phase);
    });
    const auto result = run(crew);
    ASSERT_TRUE(has_intruded);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "another process adds trials to study shared");
  }
}

TEST_F(WorkerCrewTest, EndsWhenAnotherProcessTakesTheStudyOverOrTheUserStopsIt) {
  auto taken = crew([&](std::int64_t) {
    ASSERT_TRUE(study_.store->update_study(study_.id(), {.owner = "another"}));
  });
  const auto result = run(taken);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("taken over by another"));

  study_ = SharedStudy();
  auto removed = crew([&](std::int64_t) {
    if (!claim("a")) return;
    ASSERT_EQ(study_.store->abandon_running_trials(study_.id()).value(), 1);
  });
  EXPECT_THAT(run(removed).error().message, HasSubstr("removed by another process"));

  study_ = SharedStudy();
  auto stopped = crew([&](std::int64_t) { cancel_.cancel(); });
  EXPECT_EQ(run(stopped).error().code, ErrorCode::interrupted);
}

}  // namespace
}  // namespace hocket
