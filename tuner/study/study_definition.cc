#include "tuner/study/study_definition.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

constexpr const char* kFormat = "hocket-study";
constexpr int kVersion = 1;
constexpr std::int64_t kMostRuns = 10'000;
constexpr auto kMaxInteger = std::numeric_limits<std::int64_t>::max();

Result<void> check_range(const char* what, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
  if (value >= low && value <= high) return {};
  return failure(ErrorCode::invalid_argument,
                 std::string(what) + ": expected a number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", found " + std::to_string(value));
}

Result<void> check_objectives(const std::vector<Objective>& objectives) {
  if (objectives.empty() || objectives.size() > kMostObjectives) {
    return invalid("objective: expected 1 to " + std::to_string(kMostObjectives) +
                   " objectives, found " + std::to_string(objectives.size()));
  }
  const bool is_automatic = objectives.front().kind == ObjectiveKind::automatic;
  for (auto each = objectives.begin() + 1; each != objectives.end(); ++each) {
    const std::string text = to_text(*each);
    if (std::find(objectives.begin(), each, *each) != each)
      return invalid("objective: " + text + " is given twice");
    if (each->kind == ObjectiveKind::automatic)
      return invalid("objective: auto must be the first one; say report or wall instead");
    if (is_automatic && (each->kind == ObjectiveKind::report || each->kind == ObjectiveKind::wall))
      return invalid("objective: auto may become " + text + "; say report or wall instead of auto");
  }
  return {};
}

/// Refuses options that require a single objective.
Result<void> check_alone(const StudyDefinition& definition) {
  if (definition.other_objectives.empty()) return {};
  const std::string several = "several objectives ";
  if (definition.method != SearchMethod::model) {
    return invalid(several + "are searched by the method model, not by " +
                   std::string(to_string(definition.method)));
  }
  if (definition.transfer || definition.donor)
    return invalid(several + "are searched from nothing, not from another study");
  if (definition.step)
    return invalid(several + "are searched without the description of a step; leave it out");
  return {};
}

Result<std::vector<Objective>> read_objectives(const nlohmann::json& document) {
  std::vector<std::string> texts;
  const auto found = document.find("objective");
  if (found == document.end() || !found->is_array()) {
    auto text = read_string(document, "objective");
    HOCKET_TRY(text);
    texts.push_back(std::move(*text));
  } else {
    for (const auto& text : *found) {
      if (!text.is_string()) return invalid("field \"objective\": expected texts");
      texts.push_back(text.get<std::string>());
    }
  }
  return parse_objectives(texts);
}

nlohmann::json objectives_json(const StudyDefinition& definition) {
  if (definition.other_objectives.empty()) return to_text(definition.objective);
  auto texts = nlohmann::json::array();
  for (const Objective& objective : objectives_of(definition)) texts.push_back(to_text(objective));
  return texts;
}

Result<void> read_method(const nlohmann::json& document, SearchMethod& target) {
  if (!document.contains("method")) return {};
  const auto text = read_string(document, "method");
  HOCKET_TRY(text);
  const auto method = parse_search_method(*text);
  if (!method) return failure(method.error().in("field \"method\""));
  target = *method;
  return {};
}

Result<void> read_limits(const nlohmann::json& document, std::vector<Limit>& target) {
  const auto found = document.find("limits");
  if (found == document.end()) return {};
  const auto refuse = [](const std::string& why) {
    return failure(ErrorCode::invalid_argument, "field \"limits\": " + why);
  };
  if (!found->is_array()) return refuse("expected a list of texts");
  for (const auto& text : *found) {
    if (!text.is_string()) return refuse("expected a list of texts");
    auto limit = parse_limit(text.get<std::string>());
    if (!limit) return refuse(limit.error().message);
    target.push_back(std::move(*limit));
  }
  return {};
}

Result<void> read_flag(const nlohmann::json& document, const char* field, bool& target) {
  const auto found = document.find(field);
  if (found == document.end()) return {};
  if (!found->is_boolean()) {
    return failure(ErrorCode::invalid_argument,
                   std::string("field \"") + field + "\": expected true or false");
  }
  target = found->get<bool>();
  return {};
}

Result<void> read_step(const nlohmann::json& document, std::optional<StepDescription>& target) {
  const auto found = document.find("step");
  if (found == document.end()) return {};
  auto step = parse_step_description(found->dump());
  if (!step) return failure(step.error().in("field \"step\""));
  target = std::move(*step);
  return {};
}

nlohmann::json donor_json(const Donor& donor) {
  auto evaluations = nlohmann::json::array();
  for (const Evaluation& evaluation : donor.evaluations) {
    evaluations.push_back(
        {{"params", to_json(evaluation.params)},
         {"value", evaluation.value ? nlohmann::json(*evaluation.value) : nlohmann::json()},
         {"standard_error", evaluation.standard_error}});
  }
  nlohmann::json document = {{"study", donor.study}, {"evaluations", std::move(evaluations)}};
  if (donor.distance) document["distance"] = *donor.distance;
  return document;
}

Result<Evaluation> evaluation_from_json(const nlohmann::json& document) {
  const auto params_document = read_object(document, "params");
  HOCKET_TRY(params_document);
  auto params = params_from_json(*params_document);
  HOCKET_TRY(params);
  const auto standard_error = read_number(document, "standard_error", 0);
  HOCKET_TRY(standard_error);
  Evaluation evaluation{std::move(*params), std::nullopt, *standard_error};
  if (document.contains("value") && !document.at("value").is_null()) {
    const auto value = read_number(document, "value");
    HOCKET_TRY(value);
    evaluation.value = *value;
  }
  return evaluation;
}

Result<Donor> donor_from_json(const nlohmann::json& document) {
  auto study = read_string(document, "study");
  HOCKET_TRY(study);
  Donor donor{.study = std::move(*study)};
  if (document.contains("distance")) {
    const auto distance = read_number(document, "distance", 0);
    HOCKET_TRY(distance);
    donor.distance = *distance;
  }
  const auto evaluations = read_array(document, "evaluations");
  HOCKET_TRY(evaluations);
  for (const auto& each : *evaluations) {
    auto evaluation = evaluation_from_json(each);
    if (!evaluation) return failure(evaluation.error().in("field \"evaluations\""));
    donor.evaluations.push_back(std::move(*evaluation));
  }
  return donor;
}

Result<void> read_transfer(const nlohmann::json& document, StudyDefinition& definition) {
  if (document.contains("transfer")) {
    auto study = read_string(document, "transfer");
    HOCKET_TRY(study);
    definition.transfer = std::move(*study);
  }
  if (document.contains("donor")) {
    auto donor = donor_from_json(document.at("donor"));
    if (!donor) return failure(donor.error().in("field \"donor\""));
    definition.donor = std::move(*donor);
  }
  return {};
}

}  // namespace

std::vector<Objective> objectives_of(const StudyDefinition& definition) {
  std::vector<Objective> objectives{definition.objective};
  for (const Objective& other : definition.other_objectives) objectives.push_back(other);
  return objectives;
}

Result<std::vector<Objective>> parse_objectives(const std::vector<std::string>& texts) {
  std::vector<Objective> objectives;
  for (const auto& text : texts) {
    auto objective = parse_objective(text);
    HOCKET_TRY(objective);
    objectives.push_back(std::move(*objective));
  }
  HOCKET_TRY(check_objectives(objectives));
  return objectives;
}

Result<void> validate(const StudyDefinition& definition) {
  return check_range("trials", definition.trials, 1, kMostRuns)
      .and_then([&] { return check_range("confirm", definition.confirm_pairs, 0, kMostRuns); })
      .and_then([&] { return check_range("skip", definition.skip, 0, kMaxInteger); })
      .and_then([&] { return check_range("seed", definition.seed, 0, kMaxInteger); })
      .and_then([&] { return check_range("time limit", definition.time_limit_ns, 1, kMaxInteger); })
      .and_then([&] { return check_searchable(definition.space); })
      .and_then([&] { return check_knobs(definition.space); })
      .and_then([&] { return check_objectives(objectives_of(definition)); })
      .and_then([&] { return check_alone(definition); });
}

nlohmann::json to_json(const StudyDefinition& definition) {
  nlohmann::json document = {{"format", kFormat},
                             {"version", kVersion},
                             {"space", to_json(definition.space)},
                             {"objective", objectives_json(definition)},
                             {"skip", definition.skip},
                             {"seed", definition.seed},
                             {"trials", definition.trials},
                             {"confirm_pairs", definition.confirm_pairs},
                             {"time_limit_ns", definition.time_limit_ns},
                             {"working_directory", definition.working_directory}};
  if (definition.method != SearchMethod::model) document["method"] = to_string(definition.method);
  for (const Limit& limit : definition.limits) document["limits"].push_back(to_text(limit));
  if (definition.stop_early) document["stop_early"] = true;
  if (definition.end_trials_early) document["end_trials_early"] = true;
  if (definition.step) document["step"] = to_json(*definition.step);
  if (definition.transfer) document["transfer"] = *definition.transfer;
  if (definition.donor) document["donor"] = donor_json(*definition.donor);
  return document;
}

Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document) {
  HOCKET_TRY(check_format(document, kFormat, kVersion));
  const auto space_document = read_object(document, "space");
  HOCKET_TRY(space_document);
  auto space = space_from_json(*space_document);
  if (!space) return failure(space.error().in("field \"space\""));
  const auto objectives = read_objectives(document);
  HOCKET_TRY(objectives);
  auto directory = read_string(document, "working_directory");
  HOCKET_TRY(directory);

  StudyDefinition definition{.space = std::move(*space),
                             .objective = objectives->front(),
                             .other_objectives = {objectives->begin() + 1, objectives->end()},
                             .working_directory = std::move(*directory)};
  const auto read = [&](const char* field, std::int64_t& target) -> Result<void> {
    const auto value = read_integer(document, field, 0, kMaxInteger);
    HOCKET_TRY(value);
    target = *value;
    return {};
  };
  for (const auto& ok :
       {read("skip", definition.skip), read("seed", definition.seed),
        read("trials", definition.trials), read("confirm_pairs", definition.confirm_pairs),
        read("time_limit_ns", definition.time_limit_ns)}) {
    HOCKET_TRY(ok);
  }
  for (const auto& ok : {read_flag(document, "stop_early", definition.stop_early),
                         read_flag(document, "end_trials_early", definition.end_trials_early),
                         read_limits(document, definition.limits)}) {
    HOCKET_TRY(ok);
  }
  HOCKET_TRY(read_method(document, definition.method));
  HOCKET_TRY(read_step(document, definition.step));
  HOCKET_TRY(read_transfer(document, definition));
  HOCKET_TRY(validate(definition));
  return definition;
}

}  // namespace hocket
