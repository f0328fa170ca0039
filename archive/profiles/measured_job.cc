#include "archive/profiles/measured_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "archive/profiles/load_profile.h"
#include "core/base/statistics.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

double noise_of(const RankTrace& trace) {
  std::vector<double> walls_ns;
  for (const IterationMetrics& iteration : measure_rank(trace).iterations)
    walls_ns.push_back(static_cast<double>(iteration.wall_ns));
  if (walls_ns.size() < 3) return 0;
  const double middle = median(walls_ns);
  if (middle <= 0) return 0;
  return (quantile(walls_ns, 0.9) - quantile(walls_ns, 0.1)) / 2 / middle;
}

}  // namespace

Result<MeasuredJob> measured_job(const ProfileRow& row) {
  const auto loaded = load_profile(row);
  HOCKET_TRY(loaded);
  auto calibrated = calibrate_profile(*loaded);
  HOCKET_TRY(calibrated);
  const auto check = calibrated->check;
  if (!check) return failure(check.error().in("profile " + row.name));
  return MeasuredJob{row.name, std::move(*calibrated), *check, noise_of(loaded->traces.front())};
}

nlohmann::json job_json(const MeasuredJob& job, const ScheduleConfig& config) {
  auto document = to_json(job.check);
  document["profile"] = job.name;
  document["notes"] = job.profile.notes;
  if (auto doubt = why_extrapolated(job.profile.calibration, config))
    document["notes"].push_back(std::move(*doubt));
  return document;
}

}  // namespace hocket
