#pragma once

// How well a profile predicts: the simulator on the configuration that was measured. Pure.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "profiler/archive/calibrate_profile.h"

namespace hocket {

struct PredictionCheck {
  double measured_ns = 0, predicted_ns = 0;  ///< an iteration
  /// Of the prediction, as a share of what was measured; above 0 when it is too long.
  double error() const { return measured_ns > 0 ? predicted_ns / measured_ns - 1 : 0; }
};

/// `{"measured_ns":…,"predicted_ns":…,"error":…}`
nlohmann::json to_json(const PredictionCheck& check);

/// Simulates the calibrated step as it was measured.
Result<PredictionCheck> check_prediction(const CalibratedProfile& profile);

/// Why a prediction of `config` is a guess, for people: its largest parts are more than twice as
/// large as any that was measured, or less than half as large. Nothing when they are not.
std::optional<std::string> extrapolation(const Calibration& calibration,
                                         const ScheduleConfig& config);

}  // namespace hocket
