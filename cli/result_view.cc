#include "cli/result_view.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "cli/definition.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "core/json.h"
#include "tuner/csv.h"
#include "tuner/printable.h"

namespace hocket {
namespace {

constexpr std::size_t kMessageLimitBytes = 80;

nlohmann::json number_or_null(std::optional<double> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json measured_json(const MeasuredParams& measured) {
  return {{"params", to_json(measured.params)},
          {"value", number_or_null(measured.value)},
          {"spread", measured.value ? nlohmann::json(measured.spread) : nlohmann::json()}};
}

Result<MeasuredParams> measured_from_json(const nlohmann::json& document, const char* field) {
  const auto object = read_object(document, field);
  if (!object) return failure(object.error());
  const auto params_document = read_object(*object, "params");
  if (!params_document) return failure(params_document.error());
  auto params = params_from_json(*params_document);
  if (!params) return failure(params.error());
  MeasuredParams measured{std::move(*params), std::nullopt, 0};
  if (object->contains("value") && object->at("value").is_null()) return measured;
  const auto value = read_number(*object, "value");
  if (!value) return failure(value.error());
  const auto spread = read_number(*object, "spread");
  if (!spread) return failure(spread.error());
  measured.value = *value;
  measured.spread = *spread;
  return measured;
}

std::string time_or_empty(std::optional<std::int64_t> unix_ns) {
  return unix_ns ? time_text(*unix_ns) : std::string();
}

std::string cell(const nlohmann::json& value) {
  return value.is_string() ? printable(value.get<std::string>(), kMessageLimitBytes)
                           : json_text(value);
}

}  // namespace

Result<StudyView> study_view(Store& store, const StudyRow& study) {
  const std::string where = "study " + study.name;
  const auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in(where));
  auto topology = topology_of(store, study);
  if (!topology) return failure(topology.error().in(where));
  auto workload = workload_of(store, study);
  if (!workload) return failure(workload.error().in(where));
  StudyView view{study.name, unit_of(definition->objective), to_text(definition->objective),
                 std::move(*topology), std::move(workload->name)};
  for (const auto& constraint : definition->space.constraints()) {
    view.constraints.push_back(constraint.text());
  }
  return view;
}

nlohmann::json to_json(const StudyView& view) {
  return {{"study", view.name},
          {"objective", view.objective},
          {"unit", view.unit == Unit::nanoseconds ? "ns" : ""},
          {"workload", view.workload},
          {"topology", readable_name(view.topology)},
          {"link", view.topology.link},
          {"emulated_link", !emulation_note(view.topology).empty()},
          {"constraints", view.constraints}};
}

nlohmann::json to_json(const StudyResult& result) {
  return {{"default", measured_json(result.default_params)},
          {"best", measured_json(result.best)},
          {"promoted", result.promoted},
          {"gain", result.gain},
          {"noise", result.noise},
          {"reason", result.reason},
          {"stopped", result.stopped}};
}

Result<StudyResult> study_result_from_json(const nlohmann::json& document) {
  auto default_params = measured_from_json(document, "default");
  if (!default_params) return failure(default_params.error());
  auto best = measured_from_json(document, "best");
  if (!best) return failure(best.error());
  const auto gain = read_number(document, "gain"), noise = read_number(document, "noise");
  if (!gain) return failure(gain.error());
  if (!noise) return failure(noise.error());
  auto reason = read_string(document, "reason");
  if (!reason) return failure(reason.error());
  const auto promoted = document.find("promoted");
  if (promoted == document.end() || !promoted->is_boolean()) {
    return failure(ErrorCode::invalid_argument, "field \"promoted\": expected true or false");
  }
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
                     .trials = {}};
}

nlohmann::json trials_json(std::span<const TrialRow> trials) {
  auto list = nlohmann::json::array();
  for (const auto& trial : trials) {
    list.push_back({{"number", trial.number},
                    {"phase", to_string(trial.phase)},
                    {"state", to_string(trial.state)},
                    {"params", trial.params},
                    {"value", number_or_null(trial.value)},
                    {"spread", number_or_null(trial.spread)},
                    {"message", trial.message},
                    {"started_at", time_text(trial.started_at_ns)},
                    {"finished_at", time_or_empty(trial.finished_at_ns)}});
  }
  return list;
}

void print_trials_csv(std::ostream& out, std::span<const TrialRow> trials) {
  std::vector<const TrialRow*> finished;
  std::set<std::string> names;
  for (const auto& trial : trials) {
    if (trial.phase != TrialPhase::search || trial.state == TrialState::running) continue;
    finished.push_back(&trial);
    for (const auto& [name, value] : trial.params.items()) names.insert(name);
  }
  std::string objective = "value";
  while (names.contains(objective)) objective += '_';
  for (const auto& name : names) out << csv_cell(name) << ',';
  out << objective << '\n';
  for (const TrialRow* trial : finished) {
    for (const auto& name : names) {
      const auto value = trial->params.value(name, nlohmann::json(""));
      out << csv_cell(value.is_string() ? value.get<std::string>() : json_text(value));
      out << ',';
    }
    const bool has_value = trial->state == TrialState::complete && trial->value;
    out << (has_value ? to_text(ParameterValue(*trial->value)) : "") << '\n';
  }
}

void print_trials(std::ostream& out, std::span<const TrialRow> trials, Unit unit) {
  std::set<std::string> names;
  for (const auto& trial : trials) {
    for (const auto& [name, value] : trial.params.items()) names.insert(name);
  }
  std::vector<std::string> headings = {"trial", "phase", "state"};
  headings.insert(headings.end(), names.begin(), names.end());
  headings.insert(headings.end(), {"value", "message"});
  Table table(std::move(headings));
  for (const auto& trial : trials) {
    std::vector<std::string> cells = {std::to_string(trial.number),
                                      std::string(to_string(trial.phase)),
                                      std::string(to_string(trial.state))};
    for (const auto& name : names) {
      cells.push_back(trial.params.contains(name) ? cell(trial.params.at(name)) : "");
    }
    cells.push_back(measured_text(trial.value, trial.spread.value_or(0), unit));
    cells.push_back(printable(trial.message, kMessageLimitBytes));
    table.add(std::move(cells));
  }
  table.print(out);
}

void print_heading(std::ostream& out, const StudyView& view) {
  out << "study " << view.name << ": " << view.workload << " on " << place_text(view.topology)
      << '\n';
  for (std::size_t i = 0; i < view.constraints.size(); ++i) {
    out << (i == 0 ? "required " : ", ") << printable(view.constraints[i], kMessageLimitBytes);
  }
  if (!view.constraints.empty()) out << '\n';
}

void print_result(std::ostream& out, const StudyResult& result, Unit unit) {
  const auto line = [&](const char* label, const MeasuredParams& measured) {
    out << label << measured_text(measured.value, measured.spread, unit) << "  "
        << params_text(measured.params) << '\n';
  };
  line("default  ", result.default_params);
  line("best     ", result.best);
  if (result.default_params.value) {
    out << "gain     " << percent_text(result.gain) << ", noise " << percent_text(result.noise)
        << '\n';
  }
  if (!result.stopped.empty()) out << "stopped: " << result.stopped << '\n';
  out << (result.promoted ? "promoted: " : "not promoted: ") << result.reason << '\n';
}

}  // namespace hocket
