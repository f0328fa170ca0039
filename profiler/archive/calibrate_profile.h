#pragma once

// A stored profile as a step description that the simulator predicts from. Pure, but for
// calibrate_profile(), which reads the trace files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "profiler/archive/load_profile.h"
#include "profiler/calibration/calibration.h"

namespace hocket {

struct CalibratedProfile {
  Calibration calibration;
  /// What the job ran with; of a profile without a configuration the traced one.
  ScheduleConfig config;
  /// For people: those of the load, of the calibration and of the configuration.
  std::vector<std::string> notes = {};
};

/// What a trace shows of the configuration that it ran with: as many streams and channels as it
/// has, collectives as they are.
ScheduleConfig traced_config(const RankTrace& trace);

/// invalid_argument, with the reason, when the profile has no structure or no whole step.
Result<CalibratedProfile> calibrate_profile(const LoadedProfile& profile);

/// What to change in the measured job.
struct OtherRanks {
  std::optional<std::int64_t> ranks = {}, ranks_per_host = {};
  std::optional<LinkSpec> host_link = {}, network_link = {};  ///< absent: the fitted one
};

/// The calibrated step with other ranks or links, which then cost its collectives. What nothing
/// asks for stays as measured. invalid_argument names the tier that the ranks use and that was
/// neither measured nor given, and how to give it.
Result<StepDescription> step_with(const Calibration& calibration, const OtherRanks& change);

}  // namespace hocket
