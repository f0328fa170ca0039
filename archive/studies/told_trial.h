#pragma once

// A stored trial as the tuner knows it. Pure functions; thread-safe.

#include "core/base/result.h"
#include "store/rows.h"
#include "tuner/trial/trial.h"

namespace hocket {

/// Returns the outcome that ended a trial, but for its report and its output; in state `running` if
/// it has not ended. Without its measurements the row gives an outcome without samples, whose error
/// is not known.
TrialOutcome outcome_of(const TrialRow& row);

/// Returns the trial of `row`, with outcome_of(row) and the times of the store's clock. An error
/// names the trial whose parameters cannot be read.
Result<Trial> trial_of(const TrialRow& row);

}  // namespace hocket
