#pragma once

// A stored trial as the tuner knows it, and the other way round. Pure functions; thread-safe.

#include "core/base/result.h"
#include "store/rows.h"
#include "tuner/study/study.h"
#include "tuner/study/study_session.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

/// The stored measurement that holds the samples of the objective, beside the metrics of a trial.
inline constexpr const char* kSamplesMetric = "objective";

/// Returns how a trial ended, in state `running` if it has not. Without its measurements the row
/// gives an outcome without samples, whose error is not known.
TrialOutcome outcome_of(const TrialRow& row);

/// Returns what is stored of an outcome that has ended. outcome_of() gives back all but its report
/// and its output.
TrialResult stored_result(const TrialOutcome& outcome);

/// Returns a trial of a study, which does not know what it knew. Requires one that has ended, with
/// its measurements. An error names the trial whose parameters cannot be read.
Result<FinishedTrial> finished_trial(const TrialRow& row);

/// Returns a trial of a session's past, with the times of its row. Errors as finished_trial().
Result<SessionTrial> session_trial(const TrialRow& row);

}  // namespace hocket
