#include "archive/studies/explanation/explanation_json.h"

#include <nlohmann/json.hpp>

namespace hocket {
namespace {

nlohmann::json optional_json(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json calibration_json(const LeaveOneOut& calibration) {
  auto trials = nlohmann::json::array();
  for (const LeftOut& trial : calibration.trials) {
    trials.push_back({{"number", trial.number},
                      {"measured", trial.measured},
                      {"expected", trial.expected},
                      {"low", trial.low},
                      {"high", trial.high}});
  }
  return {{"coverage", calibration.coverage},
          {"rank_correlation", calibration.rank_correlation},
          {"trials", std::move(trials)}};
}

nlohmann::json simulator_json(const StepCalibration& calibration) {
  auto constants = nlohmann::json::array();
  for (const CalibratedConstant& constant : calibration.constants) {
    constants.push_back({{"constant", constant.name},
                         {"meaning", constant.meaning},
                         {"is_factor", constant.is_factor},
                         {"expected", constant.expected},
                         {"expected_deviation", constant.expected_deviation},
                         {"calibrated", constant.calibrated},
                         {"deviation", constant.deviation}});
  }
  return {{"constants", std::move(constants)},
          {"expected_noise", calibration.expected_noise},
          {"noise", calibration.noise},
          {"expected_discrepancy", calibration.expected_discrepancy},
          {"discrepancy", calibration.discrepancy}};
}

nlohmann::json slice_json(const BeliefSlice& slice) {
  auto points = nlohmann::json::array();
  for (const BelievedPoint& point : slice.points) {
    points.push_back({{"value", to_json(point.value)},
                      {"expected", point.expected},
                      {"low", point.low},
                      {"high", point.high},
                      {"completes", point.completes}});
  }
  return {{"parameter", slice.name}, {"points", std::move(points)}};
}

nlohmann::json surface_json(const BeliefSurface& surface) {
  const auto values = [](const std::vector<ParameterValue>& list) {
    auto array = nlohmann::json::array();
    for (const auto& value : list) array.push_back(to_json(value));
    return array;
  };
  auto rows = nlohmann::json::array();
  for (const auto& row : surface.expected) {
    auto cells = nlohmann::json::array();
    for (const auto& cell : row) cells.push_back(optional_json(cell));
    rows.push_back(std::move(cells));
  }
  return {{"x", surface.x},
          {"y", surface.y},
          {"xs", values(surface.xs)},
          {"ys", values(surface.ys)},
          {"expected", std::move(rows)}};
}

nlohmann::json trials_json(const StudyExplanation& explained) {
  auto trials = nlohmann::json::array();
  for (std::size_t i = 0; i < explained.trials.size(); ++i) {
    const Trial& trial = explained.trials[i];
    trials.push_back(
        {{"number", shown_number(trial)},
         {"params", to_json(trial.params)},
         {"value", optional_json(is_complete(trial) ? trial.outcome.value : std::nullopt)},
         {"message", trial.outcome.message},
         {"reason",
          explained.reasons.empty() ? nlohmann::json() : nlohmann::json(explained.reasons[i])}});
  }
  return trials;
}

}  // namespace

nlohmann::json to_json(const StudyExplanation& explained) {
  const Explanation& explanation = explained.explanation;
  const Recommendation& recommended = explanation.recommendation;
  auto importances = nlohmann::json::array();
  for (const auto& importance : explanation.importances) {
    importances.push_back(
        {{"parameter", importance.name}, {"alone", importance.alone}, {"total", importance.total}});
  }
  auto slices = nlohmann::json::array();
  for (const BeliefSlice& slice : explanation.slices) slices.push_back(slice_json(slice));
  const auto& calibration = explanation.calibration;
  const auto& surface = explanation.surface;
  const auto& simulator = explained.simulator;
  auto others = nlohmann::json::array();
  for (const Objective& other : explained.others) others.push_back(to_text(other));
  return {{"of", explained.title},
          {"objective", explained.objective},
          {"name", explained.label},
          {"direction", explained.direction == Direction::maximise ? "max" : "min"},
          {"unit", to_string(explained.unit)},
          {"other_objectives", std::move(others)},
          {"model", explanation.basis},
          {"completed", explanation.completed},
          {"failed", explanation.failed},
          {"modelled", explanation.modelled},
          {"variation", explanation.variation},
          {"variation_is_relative", explanation.relative},
          {"importance", std::move(importances)},
          {"calibration", calibration ? calibration_json(*calibration) : nlohmann::json()},
          {"recommended",
           {{"params", to_json(recommended.params)},
            {"expected", recommended.expected},
            {"deviation", recommended.deviation},
            {"reason", recommended.reason}}},
          {"slices", std::move(slices)},
          {"surface", surface ? surface_json(*surface) : nlohmann::json()},
          {"rejected", explanation.rejected},
          {"simulator", simulator ? simulator_json(*simulator) : nlohmann::json()},
          {"trials", trials_json(explained)}};
}

}  // namespace hocket
