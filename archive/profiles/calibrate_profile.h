#pragma once

// Calibrates a stored profile into a step description, from which the simulator predicts. Pure,
// except calibrate_profile(), which reads the trace files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/load_profile.h"
#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "profiler/calibration/calibration.h"

namespace hocket {

/// The prediction for the measured configuration beside what was measured.
struct PredictionCheck {
  double measured_ns = 0, predicted_ns = 0;  ///< time of an iteration
  /// Returns the relative error of the prediction; positive if it is too long.
  double error() const { return measured_ns > 0 ? predicted_ns / measured_ns - 1 : 0; }
};

struct CalibratedProfile {
  Calibration calibration;
  /// The configuration that the job ran with; the traced one if the profile has none.
  ScheduleConfig config;
  /// Messages for people, from the load, the calibration and the configuration.
  std::vector<std::string> notes = {};
  /// An error if the measured configuration cannot be simulated.
  Result<PredictionCheck> check = PredictionCheck{};
};

/// Returns the configuration that a trace shows: as many streams and channels as it has, and
/// collectives unchanged.
ScheduleConfig traced_config(const RankTrace& trace);

/// Calibrates a profile and checks what it predicts: the step says whether predictions for other
/// configurations are withheld (`prediction_withheld`, archive/profiles/predict.h). Returns
/// invalid_argument, with the reason, if it has no structure or no whole step.
Result<CalibratedProfile> calibrate_profile(const LoadedProfile& profile);

/// Changes to the measured job; absent fields stay as measured.
struct OtherRanks {
  std::optional<std::int64_t> ranks = {}, ranks_per_host = {};
  std::optional<LinkSpec> host_link = {}, network_link = {};  ///< absent: the fitted link
};

/// Returns the calibrated step with other ranks or links, from which its collectives' costs are
/// computed. Without a change the values stay as measured. Returns invalid_argument for a tier that
/// the ranks use and that was neither measured nor given; the message names it and tells how to
/// give it.
Result<StepDescription> step_with(const Calibration& calibration, const OtherRanks& change);

}  // namespace hocket
