#pragma once

// Maps parameters of the search space to the scheduler's knobs (core/step/schedule_config.h): a
// parameter with a knob's name sets that knob. Pure functions; thread-safe.

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/declared_knob.h"
#include "core/step/hidden_knob.h"
#include "core/step/schedule_config.h"
#include "tuner/space/parameter.h"
#include "tuner/space/params.h"
#include "tuner/space/space.h"

namespace hocket {

/// Returns the knobs as parameters over the ranges worth searching, powers of two where a knob is
/// logarithmic, with the defaults of ScheduleConfig; only those in `names` when that is not empty.
/// `names` may have those of `declared`, "job.NAME". An unknown name is an error that lists the
/// knobs.
Result<std::vector<Parameter>> schedule_parameters(std::span<const std::string> names = {},
                                                   std::span<const DeclaredKnob> declared = {});

/// Returns whether `name` is that of a knob: of the whole step, of a region, or one of a job's own
/// ("job.NAME").
bool is_knob(std::string_view name);

/// Checks that every parameter with a knob's name has that knob's type and stays within the knob's
/// permitted values.
Result<void> check_knobs(const Space& space);

/// Returns what `space` searches in vain: parameters that are knobs and have values that a knob
/// which is not searched hides (core/step/hidden_knob.h). The text is that of the largest such
/// value.
std::vector<HiddenKnob> hidden_knobs(const Space& space);

/// Returns `base` with the parameters that are knobs put in; others have no effect.
Result<ScheduleConfig> with_params(const ScheduleConfig& base, const Params& params);

/// Returns the default configuration with the parameters that are knobs put in.
Result<ScheduleConfig> schedule_config_for(const Params& params);

/// Returns the values that `config` has of the parameters of `space`, whatever range it gives them.
/// invalid_argument for a space with a parameter that is no knob.
Result<Params> params_of(const ScheduleConfig& config, const Space& space);

}  // namespace hocket
