#include "archive/profiles/predict.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/sim/simulator.h"

namespace hocket {

nlohmann::json to_json(const PredictionCheck& check) {
  return {{"measured_ns", check.measured_ns},
          {"predicted_ns", check.predicted_ns},
          {"error", check.error()}};
}

Result<PredictionCheck> check_prediction(const CalibratedProfile& profile) {
  SimulationOptions options;
  options.config = profile.config;
  const auto simulation = simulate(profile.calibration.step, options);
  HOCKET_TRY(simulation);
  return PredictionCheck{.measured_ns = profile.calibration.measured_iteration_ns,
                         .predicted_ns = static_cast<double>(simulation->iteration_ns)};
}

std::optional<std::string> why_extrapolated(const Calibration& calibration,
                                            const ScheduleConfig& config) {
  std::int64_t largest = 0;
  for (const StepTask& task : calibration.step.tasks) {
    if (task.collective) largest = std::max(largest, task.bytes);
  }
  largest = std::min(largest, config.partition_bytes);
  const std::int64_t least = calibration.least_part_bytes, most = calibration.most_part_bytes;
  if (most == 0 || (largest <= 2 * most && 2 * largest >= least)) return std::nullopt;
  return "partition_bytes=" + std::to_string(config.partition_bytes) + " makes parts of " +
         std::to_string(largest) + " bytes, but those measured have " + std::to_string(least) +
         " to " + std::to_string(most) +
         ": what they cost is a guess; a profile with such parts would tell";
}

}  // namespace hocket
