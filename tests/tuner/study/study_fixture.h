#pragma once

// A small study whose trials are a function, for tests of tuner/study/study.h. One thread.

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tests/tuner/study/function_runner.h"
#include "tuner/study/study.h"

namespace hocket {

inline double study_number(const Params& params, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(params.at(name)));
}

inline Space small_study_space() {
  return Space::make({{"a", IntegerRange{1, 64, true}, std::int64_t{1}},
                      {"b", IntegerRange{1, 9}, std::int64_t{9}}})
      .value();
}

inline double true_study_value(const Params& params) {
  return 100 + 5 * std::abs(std::log2(study_number(params, "a")) - 4) +
         3 * study_number(params, "b");
}

/// Records the events in order and stops the study after `limit` of them.
class StudyRecorder final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t number, TrialPhase, const Params&) override {
    EXPECT_EQ(number, static_cast<std::int64_t>(finished.size()));
    ++started;
    return step();
  }
  Result<void> trial_finished(const Trial& trial) override {
    finished.push_back(trial);
    return step();
  }

  Result<void> search_stopped(const std::string& reason) override {
    stopped.push_back(reason);
    return {};
  }

  int started = 0;
  std::vector<Trial> finished;
  std::vector<std::string> stopped;
  int limit = INT_MAX;

 private:
  Result<void> step() {
    if (--limit > 0) return {};
    return failure(ErrorCode::unavailable, "disk full");
  }
};

/// Returns an outcome with noise that depends on how often, and where, a setting ran: deterministic
/// and different each time.
inline TrialOutcome noisy_study_outcome(const Params& params, std::size_t run, double noise) {
  std::mt19937_64 random(run * 7919 + std::hash<double>()(true_study_value(params)));
  std::normal_distribution<double> normal(0, noise);
  const double centre = true_study_value(params) * std::exp(normal(random));
  return complete_trial({centre * 0.99, centre, centre * 1.01});
}

struct StudyFixture {
  StudyOptions options{
      .session = {.space = small_study_space(), .search = {.seed = 1}, .trials = 12},
      .confirm_pairs = 3};
  StudyRecorder recorder;
  CancelToken cancel;
  std::function<Result<TrialOutcome>(const Params&, std::size_t)> job =
      [](const Params& params, std::size_t run) { return noisy_study_outcome(params, run, 0.03); };

  Result<StudyResult> run(std::vector<Trial> history = {}) {
    recorder.finished = history;
    FunctionRunner runner(
        [&](const Params& params) { return job(params, recorder.finished.size()); });
    return run_study(options, std::move(history), runner, recorder, cancel);
  }
};

inline TrialOutcome failed_outcome(std::string message) {
  TrialOutcome outcome;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace hocket
