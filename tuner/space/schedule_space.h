#pragma once

// Joins the search space to the scheduler's own knobs (core/step/schedule_config.h): a parameter
// that has a knob's name sets that knob. Pure functions; thread-safe.

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "tuner/space/parameter.h"
#include "tuner/space/params.h"
#include "tuner/space/space.h"

namespace hocket {

/// The knobs as parameters over what is worth searching, powers of two where a knob is logarithmic,
/// with the defaults of ScheduleConfig; only those in `names` when that is not empty. An unknown
/// name is an error that lists the knobs.
Result<std::vector<Parameter>> schedule_parameters(std::span<const std::string> names = {});

bool is_knob(std::string_view name);

/// Checks that every parameter with a knob's name has that knob's type and stays within what the
/// knob may hold.
Result<void> check_knobs(const Space& space);

/// The default configuration with the parameters that are knobs put in; others have no effect.
Result<ScheduleConfig> schedule_config_for(const Params& params);

}  // namespace hocket
