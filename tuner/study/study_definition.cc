#include "tuner/study/study_definition.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"
#include "core/description/step_programs.h"
#include "tuner/space/schedule_space.h"
#include "tuner/trial/placeholder.h"

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
    const auto is_same = [&](const Objective& other) { return measures_same(*each, other); };
    if (std::find_if(objectives.begin(), each, is_same) != each)
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

/// Reads one objective, or an array of them.
void read_objectives(JsonReader& reader, StudyDefinition& target) {
  reader.value("objective", [&](const JsonValue& value) {
    std::vector<std::string> texts;
    if (value.json().is_array()) {
      value.array([&](const JsonValue& text) { texts.push_back(text.text()); });
    } else {
      texts.push_back(value.text());
    }
    std::vector<Objective> objectives;
    value.take(parse_objectives(texts), objectives);
    if (objectives.empty()) return;
    target.objective = objectives.front();
    target.other_objectives.assign(objectives.begin() + 1, objectives.end());
  });
}

nlohmann::json objectives_json(const StudyDefinition& definition) {
  if (definition.other_objectives.empty()) return to_text(definition.objective);
  auto texts = nlohmann::json::array();
  for (const Objective& objective : objectives_of(definition)) texts.push_back(to_text(objective));
  return texts;
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

void read_evaluation(JsonReader& reader, Evaluation& target) {
  reader.value("params", [&](const JsonValue& value) {
    value.take(params_from_json(value.json()), target.params);
  });
  reader.number("standard_error", target.standard_error, 0);
  const auto read_value = [&](const JsonValue& value) {
    if (!value.json().is_null()) target.value = value.number();
  };
  reader.value("value", read_value, kOptional);
}

void read_donor(JsonReader& reader, Donor& target) {
  reader.text("study", target.study);
  reader.number("distance", target.distance, 0);
  reader.parts("evaluations", target.evaluations, read_evaluation);
}

nlohmann::json files_json(const std::vector<FileFingerprint>& files) {
  auto list = nlohmann::json::array();
  for (const FileFingerprint& file : files) {
    list.push_back({{"path", file.path}, {"fingerprint", file.fingerprint}});
    if (file.is_program) list.back()["is_program"] = true;
  }
  return list;
}

void read_file_fingerprint(JsonReader& reader, FileFingerprint& target) {
  reader.text("path", target.path);
  reader.text("fingerprint", target.fingerprint);
  reader.flag("is_program", target.is_program, false);
}

void read_optional_fields(JsonReader& reader, StudyDefinition& target) {
  read_knob_places(reader, "knobs", target.knobs);
  const auto read_sources = [&](JsonReader& fields) {
    read_default_sources(fields, target.default_sources);
  };
  reader.object("default_sources", read_sources, kOptional);
  reader.flag("stop_early", target.stop_early, false);
  reader.integer("least_trials", target.least_trials, 1, kMostRuns);
  reader.flag("end_trials_early", target.end_trials_early, false);
  reader.flag("needs_default", target.needs_default, false);
  reader.flag("finds_warm_up", target.finds_warm_up, false);
  reader.flag("allows_fewer", target.allows_fewer, false);
  reader.flag("compares_measured", target.compares_measured, false);
  reader.integer("workers", target.workers, 0, kMostWorkers);
  reader.text("slurm", target.slurm, "");
  reader.text("stop_command", target.stop_command, "");
  reader.integer("stop_limit_ns", target.stop_limit_ns, 1, kMaxInteger, target.stop_limit_ns);
  reader.text("stopped", target.stopped, "");
  const auto read_limit = [&](const JsonValue& value) {
    value.take(parse_limit(value.text()), target.limits.emplace_back());
  };
  reader.array("limits", read_limit, kOptional);
  const auto read_method = [&](const JsonValue& value) {
    value.take(parse_search_method(value.text()), target.method);
  };
  reader.value("method", read_method, kOptional);
  const auto read_step = [&](const JsonValue& value) {
    value.take(parse_step_description(value.json().dump()), target.step);
    if (const auto ok = check_same_on_all_ranks(*target.step, "a search"); !ok)
      value.fail(ok.error());
  };
  reader.value("step", read_step, kOptional);
  if (reader.has("transfer")) reader.text("transfer", target.transfer.emplace());
  reader.flag("goes_on", target.goes_on, false);
  reader.part("donor", target.donor, read_donor);
  if (reader.has("files")) reader.parts("files", target.files, read_file_fingerprint);
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

std::optional<std::string> shared_file(const StudyDefinition& definition) {
  std::vector<Objective> measured = objectives_of(definition);
  for (const MetricLimit& limit : definition.limits) measured.push_back(limit.objective);
  for (const Objective& objective : measured) {
    if (objective.kind != ObjectiveKind::file) continue;
    const auto names = placeholders_of({objective.argument});
    const auto has = [&](const std::string& name) { return std::ranges::count(names, name) > 0; };
    const auto& parameters = definition.space.parameters();
    const bool is_own =
        has(kTrialPlaceholder) || has(kWorkerPlaceholder) ||
        std::ranges::all_of(parameters, [&](const Parameter& each) { return has(each.name); });
    if (!is_own) return objective.argument;
  }
  return std::nullopt;
}

Result<void> check_files(const StudyDefinition& definition) {
  if (definition.workers.value_or(1) == 1) return {};
  const auto path = shared_file(definition);
  if (!path) return {};
  return invalid("--workers: trials at the same time would write one file, " + *path +
                 "; give each its own: --objective 'file:result-{TRIAL}.txt', and {TRIAL} or the "
                 "environment variable HOCKET_TRIAL where the command names the file");
}

Result<void> validate(const StudyDefinition& definition) {
  return check_range("trials", definition.trials, 1, kMostRuns)
      .and_then([&] { return check_range("confirm", definition.confirm_pairs, 0, kMostRuns); })
      .and_then([&] { return check_range("skip", definition.skip, 0, kMaxInteger); })
      .and_then([&] { return check_range("seed", definition.seed, 0, kMaxInteger); })
      .and_then([&] { return check_range("time limit", definition.time_limit_ns, 1, kMaxInteger); })
      .and_then(
          [&] { return check_range("stop time limit", definition.stop_limit_ns, 1, kMaxInteger); })
      .and_then(
          [&] { return check_range("workers", definition.workers.value_or(0), 0, kMostWorkers); })
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
  for (const MetricLimit& limit : definition.limits) document["limits"].push_back(to_text(limit));
  if (!definition.default_sources.empty())
    document["default_sources"] = to_json(definition.default_sources);
  if (!definition.knobs.empty()) document["knobs"] = to_json(definition.knobs);
  if (definition.stop_early) document["stop_early"] = true;
  if (definition.least_trials) document["least_trials"] = *definition.least_trials;
  if (definition.end_trials_early) document["end_trials_early"] = true;
  if (definition.needs_default) document["needs_default"] = true;
  if (definition.allows_fewer) document["allows_fewer"] = true;
  if (definition.compares_measured) document["compares_measured"] = true;
  if (definition.finds_warm_up) document["finds_warm_up"] = true;
  if (definition.workers) document["workers"] = *definition.workers;
  if (!definition.stop_command.empty()) {
    document["stop_command"] = definition.stop_command;
    document["stop_limit_ns"] = definition.stop_limit_ns;
  }
  if (!definition.slurm.empty()) document["slurm"] = definition.slurm;
  if (!definition.stopped.empty()) document["stopped"] = definition.stopped;
  if (definition.step) document["step"] = to_json(*definition.step);
  if (definition.transfer) document["transfer"] = *definition.transfer;
  if (definition.goes_on) document["goes_on"] = true;
  if (!definition.files.empty()) document["files"] = files_json(definition.files);
  if (definition.donor) document["donor"] = donor_json(*definition.donor);
  return document;
}

Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document) {
  JsonReader reader(document);
  reader.format(kFormat, kVersion);
  std::optional<Space> space;
  reader.value("space",
               [&](const JsonValue& value) { value.take(space_from_json(value.json()), space); });
  if (!space) return failure(reader.done().error());
  StudyDefinition definition{.space = std::move(*space), .objective = {}};
  read_objectives(reader, definition);
  reader.integer("skip", definition.skip, 0, kMaxInteger);
  reader.integer("seed", definition.seed, 0, kMaxInteger);
  reader.integer("trials", definition.trials, 1, kMostRuns);
  reader.integer("confirm_pairs", definition.confirm_pairs, 0, kMostRuns);
  reader.integer("time_limit_ns", definition.time_limit_ns, 1, kMaxInteger);
  reader.text("working_directory", definition.working_directory);
  read_optional_fields(reader, definition);
  HOCKET_TRY(reader.done());
  HOCKET_TRY(validate(definition));
  return definition;
}

}  // namespace hocket
