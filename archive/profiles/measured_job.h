#pragma once

// A profile from which steps are predicted. Thread-safe for distinct jobs.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "archive/profiles/calibrate_profile.h"
#include "archive/profiles/predict.h"
#include "core/base/result.h"

namespace hocket {

struct MeasuredJob {
  std::string name;  ///< name of the profile
  CalibratedProfile profile;
  PredictionCheck check;  ///< prediction for the measured configuration
  /// Half of the range that holds 80 % of the lowest rank's iterations, relative to their median.
  double noise = 0;
};

/// Loads the profile's traces and calibrates it.
Result<MeasuredJob> measured_job(const ProfileRow& row);

/// Returns `{"profile":…,"measured_ns":…,"predicted_ns":…,"error":…,"notes":[…]}`. The notes say
/// why a prediction of `config` is unreliable, if it is.
nlohmann::json job_json(const MeasuredJob& job, const ScheduleConfig& config);

}  // namespace hocket
