#pragma once

// The profile that `hocket simulate --profile` predicts from. One thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "profiler/archive/calibrate_profile.h"
#include "profiler/archive/predict.h"

namespace hocket {

struct MeasuredJob {
  std::string name;  ///< the profile's
  CalibratedProfile profile;
  PredictionCheck check;  ///< of the configuration that was measured
};

/// Loads the profile from the store that --store names, and calibrates it.
Result<MeasuredJob> read_measured_job(const std::string& store_option, const std::string& profile);

/// "profile gpt2-3: 25.3 ms predicted for what took 24.9 ms (1.6 % too long)"
std::string check_text(const MeasuredJob& job);

/// `{"profile":…,"measured_ns":…,"predicted_ns":…,"error":…,"notes":[…]}`, and in the notes why a
/// prediction of `config` is a guess, if it is.
nlohmann::json job_json(const MeasuredJob& job, const ScheduleConfig& config);

}  // namespace hocket
