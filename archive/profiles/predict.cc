#include "archive/profiles/predict.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
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

std::string why_withheld(const Calibration& calibration, const PredictionCheck& check) {
  if (calibration.unknown_share > kMostUnknownShare) {
    return "the bytes of " + std::to_string(calibration.unknown_collectives) + " collectives, " +
           percent(calibration.unknown_share) +
           " of the time of communication, are not known, so what other links, sizes or ranks cost "
           "is not either; record them, with PyTorch's profiler by record_shapes=True";
  }
  const double error = check.error();
  if (std::abs(error) <= kMostPredictionError) return {};
  std::string why = "the prediction for the measured configuration is " + percent(std::abs(error)) +
                    (error < 0 ? " too short" : " too long") +
                    ", so those for others cannot be believed; record ten steps or more of every "
                    "rank, on hosts and devices that do nothing else";
  const std::string& reason = calibration.step.quality.reason;
  return reason.empty() ? why : why + " (" + reason + ")";
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
