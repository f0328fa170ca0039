#pragma once

// Calibration of the simulator's constants by the trials of a search: expected and calibrated
// values. Pure function; thread-safe.

#include <optional>
#include <span>

#include "core/description/step_description.h"
#include "tuner/explain/explanation.h"
#include "tuner/surrogate/step_surrogate.h"

namespace hocket {

/// Returns the posterior at the end of a search of `space` that was given `step`
/// (tuner/search/optimizer.h). Returns nothing if that search does not simulate: the space has no
/// knob that the simulator knows, a value is not above 0, or no trial completed. `step` must
/// validate, and the trials must be inside the space.
std::optional<StepCalibration> calibrate_step(const Space& space,
                                              std::optional<StepDescription> step,
                                              std::span<const Trial> trials);

}  // namespace hocket
