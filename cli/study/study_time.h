#pragma once

// The time of a running study (tuner/study/time_budget.h) by a clock, told and asked by its owner
// and by its workers, and the runners whose trials end in time. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "archive/workers/worker.h"
#include "core/base/clock.h"
#include "tuner/study/time_budget.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

class StudyTime {
 public:
  /// `clock` must outlive this.
  StudyTime(TimeBudget budget, const Clock& clock) : budget_(budget), clock_(clock) {}

  /// A run of an earlier process took so long. Runs that were ended say nothing about the others.
  void recall(std::int64_t run_ns, TrialPhase phase, TrialState state);
  void began(std::int64_t number);
  /// Returns what the study's first run means for the rest; empty for every other.
  std::string ended(const Trial& trial);

  /// Returns why no run of this phase is to begin now; empty if one may, and runs are of this phase
  /// from then on. So a worker that takes the run at once knows how long that may take.
  std::string why_none_fits(TrialPhase phase);

  /// The time left for the runs of now.
  std::int64_t left_ns() const;
  /// Returns the error for a time that is up; nothing while it is not.
  Result<void> check() const;
  /// The error for a first trial that takes longer than the whole study may.
  Error first_trial_error() const;
  std::int64_t total_ns() const { return budget_.total_ns(); }
  bool is_confirming() const;
  bool has_run() const;

 private:
  mutable std::mutex mutex_;
  TimeBudget budget_;  ///< what is below is guarded by mutex_, as is this
  const Clock& clock_;
  std::map<std::int64_t, std::int64_t> began_ns_;  ///< running trials, by their numbers
  TrialPhase phase_ = TrialPhase::search;          ///< of the trials that may begin
  std::int64_t searched_ = 0;                      ///< trials of the search that have ended
  bool has_run_ = false;
};

/// Returns CommandOptions::time_left_ns for a study with or without a limit of its time.
std::function<std::int64_t()> time_left(const StudyTime* time);

/// Runs trials by another runner, whose trials end when the time is up. Such a trial of the search
/// is out of time; the default, or a confirmation, is an error (timed_out), since it says nothing
/// about its setting.
class TimedRunner final : public TrialRunner {
 public:
  /// `time` must outlive this.
  TimedRunner(std::unique_ptr<TrialRunner> runner, const StudyTime& time)
      : runner_(std::move(runner)), time_(time) {}

  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                           std::int64_t number) override;

 private:
  std::unique_ptr<TrialRunner> runner_;
  const StudyTime& time_;
};

/// Returns `make`, or runners that end in `time` if that is not null.
MakeRunner timed_runners(MakeRunner make, const StudyTime* time);

}  // namespace hocket
