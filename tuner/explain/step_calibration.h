#pragma once

// What the trials of a search taught its model of the step: the simulator's constants, expected
// against calibrated. Pure function; thread-safe.

#include <optional>
#include <span>

#include "core/step/step_description.h"
#include "tuner/explain/explanation.h"
#include "tuner/surrogate/step_surrogate.h"

namespace hocket {

/// The posterior that a search of `space`, which was given `step`, ends with
/// (tuner/search/optimizer.h). Nothing where it does not simulate: the space has no knob that the
/// simulator knows, a value is not above 0, or no trial completed. `step` must validate, and the
/// trials be inside the space.
std::optional<StepCalibration> calibrate_step(const Space& space,
                                              std::optional<StepDescription> step,
                                              std::span<const SearchTrial> trials);

}  // namespace hocket
