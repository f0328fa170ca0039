#pragma once

// Loads the profile from which `hocket simulate --profile` predicts. One thread.

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "profiler/archive/calibrate_profile.h"
#include "profiler/archive/predict.h"

namespace hocket {

struct MeasuredJob {
  std::string name;  ///< name of the profile
  CalibratedProfile profile;
  PredictionCheck check;  ///< prediction for the measured configuration
};

/// Loads the profile from the store of --store, and calibrates it.
Result<MeasuredJob> read_measured_job(const std::string& store_option, const std::string& profile);

/// Returns for example "profile gpt2-3: 25.3 ms predicted for what took 24.9 ms (1.6 % too long)".
std::string check_text(const MeasuredJob& job);

/// Returns `{"profile":…,"measured_ns":…,"predicted_ns":…,"error":…,"notes":[…]}`. The notes say
/// why a prediction of `config` is unreliable, if it is.
nlohmann::json job_json(const MeasuredJob& job, const ScheduleConfig& config);

}  // namespace hocket
