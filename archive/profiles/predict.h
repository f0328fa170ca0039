#pragma once

// Checks a profile's predictions: simulates the measured configuration and compares. Pure.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "archive/profiles/calibrate_profile.h"
#include "core/base/result.h"

namespace hocket {

/// Returns `{"measured_ns":…,"predicted_ns":…,"error":…}`.
nlohmann::json to_json(const PredictionCheck& check);

/// Simulates the calibrated step in the measured configuration.
Result<PredictionCheck> check_prediction(const CalibratedProfile& profile);

/// Error of the prediction for the measured configuration beyond which no other is believed, and
/// the same of the share of communication of which the bytes are not known.
inline constexpr double kMostPredictionError = 0.2, kMostUnknownShare = 0.05;

/// Returns why predictions for other configurations, links or ranks are withheld, and what to
/// record; empty if they are not.
std::string why_withheld(const Calibration& calibration, const PredictionCheck& check);

/// Returns why a prediction of `config` extrapolates, for people: its largest parts are more than
/// twice the largest measured part, or less than half of it. Returns nothing otherwise.
std::optional<std::string> why_extrapolated(const Calibration& calibration,
                                            const ScheduleConfig& config);

}  // namespace hocket
