#include "profiles/predict.h"

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
  if (!simulation) return failure(simulation.error());
  return PredictionCheck{.measured_ns = profile.calibration.measured_iteration_ns,
                         .predicted_ns = static_cast<double>(simulation->iteration_ns)};
}

}  // namespace hocket
