#pragma once

// Predictions of a step by the simulator: their JSON form, what to know of them, and how wrong they
// may be. Pure functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/measured_job.h"
#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/sim/simulator.h"
#include "core/step/hidden_knob.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Prediction of a step under one configuration.
struct Prediction {
  ScheduleConfig config;
  Simulation simulation;
};

/// The same step under another configuration, which speed-ups are relative to.
struct PredictionBaseline {
  std::string name;  ///< such as "DDP's defaults"
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;
};

/// Returns `{"iteration_ns":…,"exposed_ns":…,"compute_ns":…,"communication_ns":…,"bound_ns":…,
/// "efficiency":…,"parts":…,"events":…,"ranks":…,"simulated_ranks":…,"iterations_ns":[…],
/// "config":{…},"speedup":…,"withheld":…,"baseline":{"name":…,"iteration_ns":…,"config":{…}}}`.
/// `efficiency` is null where Simulation::efficiency is absent.
/// If comparisons are withheld, `withheld` gives the reason and `speedup` is null; otherwise
/// `withheld` is null.
nlohmann::json prediction_json(const StepDescription& step, const Prediction& prediction,
                               const PredictionBaseline& baseline);

/// Returns the baseline's iteration time over the prediction's.
double speedup(const Prediction& prediction, const PredictionBaseline& baseline);

/// Returns invalid_argument, with the reason, if comparisons of `step` are withheld
/// (`prediction_withheld`) and the question is not about what was measured. `is_as_measured`
/// says that neither the measured step nor its configuration is changed.
Result<void> check_comparable(const StepDescription& step, bool is_as_measured);

/// Returns the knobs of the prediction that others hide.
std::vector<HiddenKnob> hidden_in(const StepDescription& step, const Prediction& prediction);

/// Returns why a prediction of `config` is unreliable, if it is; `job` is what the step was
/// measured on, null if it was not.
std::vector<std::string> doubts_on(const MeasuredJob* job, const ScheduleConfig& config);

/// The range in which an iteration is expected.
struct ErrorBar {
  double low_ns = 0, high_ns = 0;
  std::string basis;  ///< where it comes from, for people
};

/// Returns the error bar of a prediction from a measured job. To either side it is the larger of
/// two shares: the error of the prediction for the measured configuration, and the noise of the
/// measured iterations.
ErrorBar error_bar(const MeasuredJob& job, std::int64_t iteration_ns);

}  // namespace hocket
