#include "cli/inputs/measured_job.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output/value_text.h"
#include "cli/verbs/profile_verbs.h"
#include "profiler/archive/load_profile.h"

namespace hocket {

Result<MeasuredJob> read_measured_job(const std::string& store_option, const std::string& profile) {
  const auto store = open_profiles(store_option, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, profile);
  HOCKET_TRY(row);
  const auto loaded = load_profile(*row);
  HOCKET_TRY(loaded);
  auto calibrated = calibrate_profile(*loaded);
  HOCKET_TRY(calibrated);
  const auto check = check_prediction(*calibrated);
  if (!check) return failure(check.error().in("profile " + row->name));
  return MeasuredJob{row->name, std::move(*calibrated), *check};
}

std::string check_text(const MeasuredJob& job) {
  const double error = job.check.error();
  return "profile " + job.name + ": " + value_text(job.check.predicted_ns, Unit::nanoseconds) +
         " predicted for what took " + value_text(job.check.measured_ns, Unit::nanoseconds) + " (" +
         percent_text(std::abs(error)) + (error < 0 ? " too short)" : " too long)");
}

nlohmann::json job_json(const MeasuredJob& job, const ScheduleConfig& config) {
  auto document = to_json(job.check);
  document["profile"] = job.name;
  document["notes"] = job.profile.notes;
  if (auto doubt = extrapolation(job.profile.calibration, config))
    document["notes"].push_back(std::move(*doubt));
  return document;
}

}  // namespace hocket
