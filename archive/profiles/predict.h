#pragma once

// Checks a profile's predictions: simulates the measured configuration and compares. Pure.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "archive/profiles/calibrate_profile.h"
#include "core/base/result.h"

namespace hocket {

struct PredictionCheck {
  double measured_ns = 0, predicted_ns = 0;  ///< time of an iteration
  /// Returns the relative error of the prediction; positive if it is too long.
  double error() const { return measured_ns > 0 ? predicted_ns / measured_ns - 1 : 0; }
};

/// Returns `{"measured_ns":…,"predicted_ns":…,"error":…}`.
nlohmann::json to_json(const PredictionCheck& check);

/// Simulates the calibrated step in the measured configuration.
Result<PredictionCheck> check_prediction(const CalibratedProfile& profile);

/// Returns why a prediction of `config` extrapolates, for people: its largest parts are more than
/// twice the largest measured part, or less than half of it. Returns nothing otherwise.
std::optional<std::string> why_extrapolated(const Calibration& calibration,
                                            const ScheduleConfig& config);

}  // namespace hocket
