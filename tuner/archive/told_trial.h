#pragma once

// A stored trial as a search is told of it. Pure.

#include "store/rows.h"
#include "tuner/search.h"

namespace hocket {

/// The measurement that holds the samples behind a trial's value.
inline constexpr const char* kObjectiveMetric = "objective";

/// Requires a trial that has ended. Without its measurements its standard error is not known.
Evaluation evaluation_of(const TrialRow& trial, const Params& params);

}  // namespace hocket
