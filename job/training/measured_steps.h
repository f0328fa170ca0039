#pragma once

// Steps measured while they are trained, and put together to a description of the job's step.
// Called as training.h.

#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "job/training/training.h"
#include "profiler/calibration/step_profile.h"

namespace hocket {

/// Runs `phase` and appends its steps to `profiled`, except the first, from which a scheduler that
/// divides computations learns. One channel carries all parts, so that parts do not slow each
/// other.
Result<void> run_measured(const Training& training, TrainingPhase phase,
                          std::vector<ProfiledStep>& profiled);

/// Returns the description of the job's step from measurements of it.
Result<StepDescription> described_step(const Training& training,
                                       const std::vector<ProfiledStep>& profiled);

/// Returns whether the tasks of both steps have the same kinds, sizes and numbers of accesses.
bool have_same_tasks(const StepDescription& a, const StepDescription& b);

/// Returns `measured`, whose tasks are those of `submitted`, with the properties that a measurement
/// does not show: regions, micro-batches, dimensions, kinds of collectives and places of data.
StepDescription with_places(StepDescription measured, const StepDescription& submitted);

}  // namespace hocket
