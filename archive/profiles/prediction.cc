#include "archive/profiles/prediction.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/text.h"
#include "core/description/step_programs.h"

namespace hocket {
namespace {

std::int64_t largest_collective_bytes(const StepDescription& step) {
  std::int64_t bytes = 0;
  for (const StepLayer& layer : step.layers) bytes = std::max(bytes, layer.parameter_bytes);
  for (const StepTask& task : step.tasks) bytes = std::max(bytes, task.bytes);
  for (const RankProgram& program : step.programs)
    for (const StepTask& task : program.tasks) bytes = std::max(bytes, task.bytes);
  return bytes;
}

}  // namespace

double speedup(const Prediction& prediction, const PredictionBaseline& baseline) {
  const auto ns = std::max<std::int64_t>(prediction.simulation.iteration_ns, 1);
  return static_cast<double>(baseline.iteration_ns) / static_cast<double>(ns);
}

nlohmann::json prediction_json(const StepDescription& step, const Prediction& prediction,
                               const PredictionBaseline& baseline) {
  const Simulation& s = prediction.simulation;
  const std::string& withheld = step.prediction_withheld;
  return {{"iteration_ns", s.iteration_ns},
          {"exposed_ns", s.exposed_ns},
          {"compute_ns", s.compute_ns},
          {"communication_ns", s.communication_ns},
          {"bound_ns", s.bound_ns},
          {"efficiency", s.efficiency ? nlohmann::json(*s.efficiency) : nlohmann::json()},
          {"parts", s.parts},
          {"events", s.events},
          {"ranks", step.ranks},
          {"simulated_ranks", s.simulated_ranks},
          {"iterations_ns", s.iterations_ns},
          {"config", to_json(prediction.config)},
          {"speedup", withheld.empty() ? nlohmann::json(speedup(prediction, baseline)) : nullptr},
          {"withheld", withheld.empty() ? nlohmann::json() : nlohmann::json(withheld)},
          {"baseline",
           {{"name", baseline.name},
            {"iteration_ns", baseline.iteration_ns},
            {"config", to_json(baseline.config)}}}};
}

Result<void> check_comparable(const StepDescription& step, bool is_as_measured) {
  const std::string& why = step.prediction_withheld;
  if (is_as_measured || why.empty()) return {};
  return invalid("nothing is predicted for another configuration, link or number of ranks: " + why);
}

std::vector<HiddenKnob> hidden_in(const StepDescription& step, const Prediction& prediction) {
  StepSizes sizes{.largest_collective_bytes = largest_collective_bytes(step)};
  // Other ranks may have more parts than rank 0.
  if (!takes_part_by_rank(step)) sizes.parts = prediction.simulation.parts;
  return hidden_knobs(prediction.config, sizes);
}

std::vector<std::string> doubts_on(const MeasuredJob* job, const ScheduleConfig& config) {
  std::vector<std::string> doubts;
  if (config.step_issue != StepIssue::tasks) {
    doubts.emplace_back(
        "step_issue has no effect on a prediction: the simulator issues every step task by task");
  }
  if (job == nullptr) return doubts;
  if (auto doubt = why_extrapolated(job->profile.calibration, config))
    doubts.push_back(std::move(*doubt));
  return doubts;
}

ErrorBar error_bar(const MeasuredJob& job, std::int64_t iteration_ns) {
  const double error = job.check.error();
  const double share = std::max(std::abs(error), job.noise);
  const auto middle_ns = static_cast<double>(iteration_ns);
  return {.low_ns = middle_ns * std::max(0.0, 1 - share),
          .high_ns = middle_ns * (1 + share),
          .basis = "The prediction for the measured configuration is " + percent(std::abs(error)) +
                   (error < 0 ? " too short" : " too long") +
                   ", and 80 % of the measured iterations lie within ± " + percent(job.noise) +
                   "; the error bar is the larger of the two."};
}

}  // namespace hocket
