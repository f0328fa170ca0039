#include "tuner/study/trial_crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/tuner/study/memory_crew.h"
#include "tests/tuner/study/study_fixture.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Result<TrialOutcome> some_trial(const Trial& trial) {
  if (study_number(trial.params, "b") == 7) return failed_outcome("seven");
  return noisy_study_outcome(trial.params, static_cast<std::size_t>(trial.number), 0.03);
}

/// Keeps what a study tells, and stops it after `limit` events.
class CrewRecorder final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override {
    running[number] = {
        .number = number, .phase = phase, .params = params, .began = std::ssize(finished)};
    return step();
  }
  Result<void> trial_finished(const Trial& trial) override {
    EXPECT_EQ(running.erase(trial.number), 1u);
    finished.push_back(trial);
    return step();
  }
  Result<void> search_stopped(const std::string&) override { return {}; }

  std::map<std::int64_t, Trial> running;
  std::vector<Trial> finished;
  int limit = INT_MAX;

 private:
  Result<void> step() {
    if (--limit > 0) return {};
    return failure(ErrorCode::unavailable, "disk full");
  }
};

struct CrewStudy {
  StudyOptions options{
      .session = {.space = small_study_space(), .search = {.seed = 1}, .trials = 14},
      .confirm_pairs = 3};
  CrewRecorder recorder;

  Result<StudyResult> run(MemoryCrew& crew, std::vector<Trial> history = {}) {
    return run_study(options, std::move(history), crew, recorder, {});
  }
};

TEST(TrialCrew, RunsTheSameStudyInOnePlaceAsARunnerDoes) {
  StudyFixture serial;
  serial.options.session.trials = 14;
  serial.job = [](const Params& params, std::size_t run) {
    return some_trial({.number = static_cast<std::int64_t>(run), .params = params});
  };
  const auto expected = serial.run().value();
  CrewStudy study;
  MemoryCrew crew(1, 5, some_trial);
  crew.worker_of = [](const auto&) { return ""; };
  const auto result = study.run(crew);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->trials, expected.trials);
  EXPECT_EQ(result->reason, expected.reason);
}

TEST(TrialCrew, FillsItsPlacesAndRunsTheDefaultAndEveryConfirmationAlone) {
  for (const std::size_t places : {2U, 3U, 8U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("places " + std::to_string(places) + ", seed " + std::to_string(seed));
      CrewStudy study;
      MemoryCrew crew(places, seed, some_trial);
      const auto result = study.run(crew);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(crew.most_running, places);
      EXPECT_EQ(result->trials[0].params, small_study_space().defaults());
      EXPECT_TRUE(study.recorder.running.empty());
      EXPECT_EQ(study.recorder.finished, result->trials);
      std::set<Params> searched;
      std::set<std::int64_t> numbers;
      std::size_t place = 0;
      for (const Trial& trial : result->trials) {
        EXPECT_TRUE(numbers.insert(trial.number).second);
        EXPECT_LE(trial.began, static_cast<std::int64_t>(place));
        if (trial.phase == TrialPhase::search) {
          EXPECT_TRUE(searched.insert(trial.params).second) << "a setting was searched twice";
          EXPECT_TRUE(place == 0 || trial.began >= 1) << "it began beside the default";
        } else {
          EXPECT_EQ(trial.began, static_cast<std::int64_t>(place)) << "it ran beside another one";
        }
        ++place;
      }
      EXPECT_EQ(searched.size(), 14u);
      EXPECT_TRUE(result->promoted) << result->reason;
    }
  }
}

TEST(TrialCrew, GoesOnFromAnyInterruptionWithWhatStillRuns) {
  for (const std::uint64_t seed : {1U, 2U}) {
    CrewStudy whole;
    MemoryCrew whole_crew(3, seed, some_trial);
    const auto expected = whole.run(whole_crew).value();
    for (int limit = 1; limit <= 2 * static_cast<int>(expected.trials.size()); ++limit) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", limit " + std::to_string(limit));
      CrewStudy part;
      MemoryCrew crew(3, seed, some_trial);
      part.recorder.limit = limit;
      const auto broken = part.run(crew);
      ASSERT_FALSE(broken);
      EXPECT_EQ(broken.error().message, "disk full");
      const auto kept = part.recorder.finished;
      std::vector<Trial> running;
      std::int64_t next_number = static_cast<std::int64_t>(kept.size());
      for (const auto& [number, trial] : part.recorder.running) running.push_back(trial);
      next_number += static_cast<std::int64_t>(running.size());

      CrewStudy again;
      again.recorder.finished = kept;
      again.recorder.running = part.recorder.running;
      MemoryCrew rest(3, seed, some_trial);
      rest.adopt(running, next_number, static_cast<std::int64_t>(kept.size()));
      const auto resumed = again.run(rest, kept);
      ASSERT_TRUE(resumed) << resumed.error().message;
      std::set<Params> searched;
      for (const Trial& trial : resumed->trials) {
        if (trial.phase != TrialPhase::search) continue;
        EXPECT_TRUE(searched.insert(trial.params).second) << "a setting was searched twice";
      }
      EXPECT_EQ(searched.size(), 14u);
      ASSERT_GE(resumed->trials.size(), kept.size());
      EXPECT_TRUE(std::ranges::equal(kept, std::span(resumed->trials).first(kept.size())));
      for (const Trial& trial : running) {
        EXPECT_EQ(std::ranges::count(resumed->trials, trial.number, &Trial::number), 1);
      }
      EXPECT_TRUE(resumed->promoted) << resumed->reason;
    }
  }
}

TEST(TrialCrew, WantsTheWorkerOfTheLastConfirmationForTheNext) {
  CrewStudy study;
  MemoryCrew crew(3, 1, some_trial);
  const auto result = study.run(crew).value();
  std::set<std::string> confirmed_by;
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    if (result.trials[i].phase == TrialPhase::confirm) confirmed_by.insert(result.trials[i].worker);
  }
  EXPECT_EQ(confirmed_by.size(), 1u);
}

TEST(TrialCrew, APairOfTwoWorkersCountsForNothing) {
  CrewStudy study;
  MemoryCrew crew(2, 1, [](const Trial& trial) -> Result<TrialOutcome> {
    // The first confirmation run, on a worker that then is lost, would make the default look better
    // than it is.
    if (trial.number == 14) return complete_trial({1});
    return complete_trial({true_study_value(trial.params)});
  });
  crew.worker_of = [](const Trial& trial) {
    return std::string(trial.number == 14 ? "slow" : "other");
  };
  const auto result = study.run(crew).value();
  EXPECT_EQ(result.trials[14].params, small_study_space().defaults());
  EXPECT_TRUE(result.promoted) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("in 2 pairs of runs"));
  const auto runs = std::ranges::count(result.trials, TrialPhase::confirm, &Trial::phase);
  EXPECT_EQ(runs, 5) << "two pairs, and the run that counts for nothing";
}

TEST(TrialCrew, AnErrorOfTheCrewEndsTheStudy) {
  CrewStudy study;
  MemoryCrew crew(2, 1, [](const Trial& trial) -> Result<TrialOutcome> {
    if (trial.number == 3) return failure(ErrorCode::unavailable, "no such command");
    return complete_trial({5});
  });
  const auto result = study.run(crew);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "no such command");
}

}  // namespace
}  // namespace hocket
