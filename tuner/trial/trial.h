#pragma once

// A trial: one run of the job under one setting, from the moment it is asked for to its outcome.
// Whoever asks for trials, runs, keeps or shows them has this type. The store's form of a trial is
// TrialRow (archive/studies/told_trial.h), and a search is told an Evaluation of it
// (tuner/search/search.h). Plain values.

#include <cstdint>
#include <string>

#include "core/protocol/trial_outcome.h"
#include "tuner/space/params.h"

namespace hocket {

struct Trial {
  std::int64_t id = 0;  ///< in the store; 0 if no store is known to have it
  /// From 0 within its study, in the order in which trials were started. A missing number is that
  /// of a trial whose run was lost.
  std::int64_t number = 0;
  TrialPhase phase = TrialPhase::search;
  Params params = {};
  /// Has the state `running` until the trial has ended.
  TrialOutcome outcome = {.state = TrialState::running};
  /// Runs the trial, or ran it. Empty: any worker may, or there is only one.
  std::string worker = {};
  /// When it was asked for and when it ended, by the clock of whoever keeps the trials: a trial was
  /// told before another was asked for if its end is at or before the other's begin. The clock of
  /// run_study() is the number of trials that have ended.
  std::int64_t began = 0, ended = 0;
  /// The caller chose its setting; the search was not asked.
  bool is_given = false;

  bool operator==(const Trial&) const = default;
};

/// Returns the number by which people know a trial: from 1.
inline std::int64_t shown_number(const Trial& trial) {
  return trial.number + 1;
}

inline bool is_running(const Trial& trial) {
  return trial.outcome.state == TrialState::running;
}

inline bool is_complete(const Trial& trial) {
  return trial.outcome.state == TrialState::complete;
}

}  // namespace hocket
