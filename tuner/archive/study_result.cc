#include "tuner/archive/study_result.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace hocket {
namespace {

nlohmann::json optional_number(std::optional<double> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json measured_json(const MeasuredParams& measured) {
  nlohmann::json document = {
      {"params", to_json(measured.params)},
      {"value", optional_number(measured.value)},
      {"spread", measured.value ? nlohmann::json(measured.spread) : nlohmann::json()}};
  if (!measured.others.empty()) document["others"] = measured.others;
  return document;
}

Result<std::vector<double>> others_from_json(const nlohmann::json& document) {
  std::vector<double> others;
  if (!document.contains("others")) return others;
  const auto array = read_array(document, "others");
  HOCKET_TRY(array);
  for (const auto& each : *array) {
    const auto value = number_of(each, "others", std::numeric_limits<double>::lowest(),
                                 std::numeric_limits<double>::max());
    HOCKET_TRY(value);
    others.push_back(*value);
  }
  return others;
}

Result<MeasuredParams> measured_from_json(const nlohmann::json& object) {
  const auto params_document = read_object(object, "params");
  HOCKET_TRY(params_document);
  auto params = params_from_json(*params_document);
  HOCKET_TRY(params);
  MeasuredParams measured{std::move(*params), std::nullopt, 0};
  if (object.contains("value") && object.at("value").is_null()) return measured;
  const auto value = read_number(object, "value");
  HOCKET_TRY(value);
  const auto spread = read_number(object, "spread");
  HOCKET_TRY(spread);
  auto others = others_from_json(object);
  HOCKET_TRY(others);
  measured.value = *value;
  measured.spread = *spread;
  measured.others = std::move(*others);
  return measured;
}

Result<MeasuredParams> measured_from_json(const nlohmann::json& document, const char* field) {
  const auto object = read_object(document, field);
  HOCKET_TRY(object);
  return measured_from_json(*object);
}

nlohmann::json front_json(const std::vector<FinishedTrial>& front) {
  auto list = nlohmann::json::array();
  for (const FinishedTrial& trial : front) {
    const TrialOutcome& outcome = trial.outcome;
    auto entry = measured_json({trial.params, outcome.value, outcome.spread, outcome.others});
    entry["number"] = trial.number + 1;
    list.push_back(std::move(entry));
  }
  return list;
}

Result<std::vector<FinishedTrial>> front_from_json(const nlohmann::json& document) {
  std::vector<FinishedTrial> front;
  if (!document.contains("front")) return front;
  const auto array = read_array(document, "front");
  HOCKET_TRY(array);
  for (const auto& each : *array) {
    if (!each.is_object()) return failure(wrong_field("front", "objects", each));
    auto measured = measured_from_json(each);
    if (!measured) return failure(measured.error().in("field \"front\""));
    const auto number = read_integer(each, "number", 1, std::numeric_limits<std::int64_t>::max());
    if (!number) return failure(number.error().in("field \"front\""));
    FinishedTrial trial{*number - 1, TrialPhase::search, std::move(measured->params), {}};
    trial.outcome.state = TrialState::complete;
    trial.outcome.value = measured->value.value_or(0);
    trial.outcome.spread = measured->spread;
    trial.outcome.others = std::move(measured->others);
    front.push_back(std::move(trial));
  }
  return front;
}

}  // namespace

nlohmann::json to_json(const StudyResult& result) {
  nlohmann::json document = {{"default", measured_json(result.default_params)},
                             {"best", measured_json(result.best)},
                             {"promoted", result.promoted},
                             {"gain", result.gain},
                             {"noise", result.noise},
                             {"reason", result.reason},
                             {"stopped", result.stopped}};
  if (!result.front.empty()) document["front"] = front_json(result.front);
  return document;
}

Result<StudyResult> study_result_from_json(const nlohmann::json& document) {
  auto default_params = measured_from_json(document, "default");
  HOCKET_TRY(default_params);
  auto best = measured_from_json(document, "best");
  HOCKET_TRY(best);
  const auto gain = read_number(document, "gain"), noise = read_number(document, "noise");
  HOCKET_TRY(gain);
  HOCKET_TRY(noise);
  auto reason = read_string(document, "reason");
  HOCKET_TRY(reason);
  const auto promoted = document.find("promoted");
  if (promoted == document.end() || !promoted->is_boolean()) {
    return failure(ErrorCode::invalid_argument, "field \"promoted\": expected true or false");
  }
  auto front = front_from_json(document);
  HOCKET_TRY(front);
  const auto stopped = document.find("stopped");
  return StudyResult{.default_params = std::move(*default_params),
                     .best = std::move(*best),
                     .promoted = promoted->get<bool>(),
                     .gain = *gain,
                     .noise = *noise,
                     .reason = std::move(*reason),
                     .stopped = stopped == document.end() || !stopped->is_string()
                                    ? ""
                                    : stopped->get<std::string>(),
                     .front = std::move(*front),
                     .trials = {}};
}

}  // namespace hocket
