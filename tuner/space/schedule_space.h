#pragma once

// Maps parameters of the search space to the scheduler's knobs (core/step/schedule_config.h): a
// parameter with a knob's name sets that knob. Pure functions; thread-safe.

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "tuner/space/parameter.h"
#include "tuner/space/params.h"
#include "tuner/space/space.h"

namespace hocket {

/// Returns the knobs as parameters over the values worth searching (powers of two if a knob is
/// logarithmic), with the defaults of ScheduleConfig; only those in `names` unless that is empty.
/// An error for an unknown name lists the knobs.
Result<std::vector<Parameter>> schedule_parameters(std::span<const std::string> names = {});

bool is_knob(std::string_view name);

/// Checks that every parameter with a knob's name has that knob's type and stays within the knob's
/// permitted values.
Result<void> check_knobs(const Space& space);

/// Returns the default configuration with the parameters that are knobs applied; others are
/// ignored.
Result<ScheduleConfig> schedule_config_for(const Params& params);

}  // namespace hocket
