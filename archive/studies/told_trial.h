#pragma once

// A stored trial as the tuner knows it, and the other way round. Pure functions; thread-safe.

#include "core/base/result.h"
#include "store/rows.h"
#include "tuner/trial/trial.h"

namespace hocket {

/// The stored measurement that holds the samples of the objective, beside the metrics of a trial.
inline constexpr const char* kSamplesMetric = "objective";

/// Returns how a trial ended, in state `running` if it has not. Without its measurements the row
/// gives an outcome without samples, whose error is not known.
TrialOutcome outcome_of(const TrialRow& row);

/// Returns what is stored of an outcome that has ended. outcome_of() gives back all but its report
/// and its output.
TrialResult stored_result(const TrialOutcome& outcome);

/// Returns the trial of `row`, with outcome_of(row) and the times of the store's clock. An error
/// names the trial whose parameters cannot be read.
Result<Trial> trial_of(const TrialRow& row);

}  // namespace hocket
