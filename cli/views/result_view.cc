#include "cli/views/result_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "archive/studies/study_job.h"
#include "cli/output/table.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "tuner/study/study_definition.h"
#include "tuner/table/csv.h"
#include "tuner/table/recorded_table.h"

namespace hocket {
namespace {

constexpr std::size_t kMessageLimitBytes = 80, kResultViewNameLimitBytes = 60;

nlohmann::json number_or_null(std::optional<double> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

/// Returns the values of further objectives; empty when the trial has not completed.
std::vector<double> others_of(const TrialRow& trial) {
  return trial.state == TrialState::complete ? others_in(trial.measurements)
                                             : std::vector<double>();
}

/// Returns the peak memory of the trial's processes, where the row has it.
std::optional<double> peak_memory_of(const TrialRow& trial) {
  const auto found = trial.measurements.find("peak_memory_bytes");
  if (found == trial.measurements.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::string time_or_empty(std::optional<std::int64_t> unix_ns) {
  return unix_ns ? time_text(*unix_ns) : std::string();
}

std::string cell(const nlohmann::json& value) {
  return value.is_string() ? printable(value.get<std::string>(), kMessageLimitBytes)
                           : json_text(value);
}

void print_objective_columns(std::ostream& out, const std::set<std::string>& parameters,
                             const StudyView& view) {
  if (view.others.empty()) {
    std::string name = "value";
    while (parameters.contains(name)) name += '_';
    out << name;
    return;
  }
  const auto column = [](const std::string& text) {
    return csv_cell(plain_line(std::string(RecordedTable::kObjectivePrefix) + text));
  };
  out << column(view.objective);
  for (const Objective& other : view.others) out << ',' << column(to_text(other));
}

std::string number_cell(const std::optional<double>& number) {
  return number ? to_text(ParameterValue(*number)) : std::string();
}

void print_trial_columns(std::ostream& out) {
  for (const char* name :
       {"number", "phase", "state", "spread", "started_at", "seconds", "peak_memory_bytes"})
    out << ',' << RecordedTable::kTrialPrefix << name;
  out << '\n';
}

void print_trial_cells(std::ostream& out, const TrialRow& trial) {
  const bool has_spread = trial.state == TrialState::complete;
  std::optional<double> seconds;
  if (trial.finished_at_ns)
    seconds = static_cast<double>(*trial.finished_at_ns - trial.started_at_ns) / 1e9;
  out << ',' << trial.number << ',' << to_string(trial.phase) << ',' << to_string(trial.state)
      << ',' << (has_spread ? number_cell(trial.spread) : "") << ','
      << time_text(trial.started_at_ns) << ',' << number_cell(seconds) << ','
      << number_cell(peak_memory_of(trial)) << '\n';
}

const char* direction_text(Direction direction) {
  return direction == Direction::maximise ? "max" : "min";
}

/// Returns the objectives that are maximised, as people call them.
std::vector<std::string> maximised(const StudyView& view) {
  std::vector<std::string> labels;
  // Without a name the text says it all, but for the direction in front of it.
  const bool is_named = view.label != "value";
  if (view.direction == Direction::maximise)
    labels.push_back(is_named ? view.label : view.objective.substr(view.objective.find(':') + 1));
  for (const Objective& other : view.others) {
    if (other.direction == Direction::maximise) labels.push_back(label_of(other));
  }
  return labels;
}

void print_list(std::ostream& out, const char* label, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out << (i == 0 ? label : ", ") << printable(texts[i], kMessageLimitBytes);
  }
  if (!texts.empty()) out << '\n';
}

}  // namespace

std::string place_text(const StudyView& view) {
  return view.topology ? place_text(*view.topology) : std::string("-");
}

Result<StudyView> study_view(Store& store, const StudyRow& study, UnreadRows& unread) {
  const std::string where = "study " + study.name;
  const auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in(where));
  const Objective& objective = definition->objective;
  StudyView view{.name = study.name,
                 .unit = unit_of(objective),
                 .objective = to_text(objective),
                 .direction = objective.direction};
  if (study.topology_id) {
    auto topology = topology_of(store, study);
    if (topology) view.topology = std::move(*topology);
    if (!topology) unread.push_back(topology.error().in(where).message);
  }
  if (study.workload_id) {
    const auto workload = workload_of(store, study);
    if (workload) view.workload = workload->name;
    if (!workload) unread.push_back(workload.error().in(where).message);
  }
  if (!objective.name.empty() || !definition->other_objectives.empty())
    view.label = label_of(objective);
  for (const auto& constraint : definition->space.constraints()) {
    view.constraints.push_back(constraint.text());
  }
  for (const MetricLimit& limit : definition->limits) view.limits.push_back(readable(limit));
  view.others = definition->other_objectives;
  view.default_sources = definition->default_sources;
  return view;
}

TrialDetail detail_for(const StudyView& view) {
  return view.others.empty() ? TrialDetail::summary : TrialDetail::with_measurements;
}

nlohmann::json to_json(const StudyView& view) {
  nlohmann::json objectives = {{{"objective", view.objective},
                                {"name", view.label},
                                {"direction", direction_text(view.direction)},
                                {"unit", to_string(view.unit)}}};
  for (const Objective& other : view.others) {
    objectives.push_back({{"objective", to_text(other)},
                          {"name", label_of(other)},
                          {"direction", direction_text(other.direction)},
                          {"unit", to_string(unit_of(other))}});
  }
  const auto& topology = view.topology;
  return {{"study", view.name},
          {"objective", view.objective},
          {"unit", to_string(view.unit)},
          {"objectives", std::move(objectives)},
          {"workload", view.workload.empty() ? nlohmann::json() : nlohmann::json(view.workload)},
          {"topology", topology ? nlohmann::json(readable_name(*topology)) : nlohmann::json()},
          {"link", topology ? nlohmann::json(topology->link) : nlohmann::json()},
          {"emulated_link", topology && !emulation_note(*topology).empty()},
          {"constraints", view.constraints},
          {"limits", view.limits},
          {"default_sources", to_json(view.default_sources)}};
}

namespace {

/// Returns the state of a trial; of one that no worker has yet that it waits.
std::string state_of(const TrialRow& trial) {
  return trial.is_offered ? "waiting" : std::string(to_string(trial.state));
}

}  // namespace

nlohmann::json trials_json(std::span<const TrialRow> trials) {
  auto list = nlohmann::json::array();
  for (const auto& trial : trials) {
    list.push_back({{"number", trial.number},
                    {"phase", to_string(trial.phase)},
                    {"state", state_of(trial)},
                    {"params", trial.params},
                    {"value", number_or_null(trial.value)},
                    {"spread", number_or_null(trial.spread)},
                    {"message", trial.message},
                    {"started_at", time_text(trial.started_at_ns)},
                    {"finished_at", time_or_empty(trial.finished_at_ns)}});
    if (!trial.worker.empty()) list.back()["worker"] = trial.worker;
    if (const auto peak_bytes = peak_memory_of(trial))
      list.back()["peak_memory_bytes"] = *peak_bytes;
    if (auto others = others_of(trial); !others.empty()) list.back()["others"] = std::move(others);
  }
  return list;
}

void print_trials_csv(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view) {
  std::vector<const TrialRow*> finished;
  std::set<std::string> names;
  for (const auto& trial : trials) {
    if (trial.state == TrialState::running) continue;
    finished.push_back(&trial);
    for (const auto& [name, value] : trial.params.items()) names.insert(name);
  }
  for (const auto& name : names) out << csv_cell(plain_line(name)) << ',';
  print_objective_columns(out, names, view);
  print_trial_columns(out);
  for (const TrialRow* trial : finished) {
    for (const auto& name : names) {
      const auto value = trial->params.value(name, nlohmann::json(""));
      out << csv_cell(value.is_string() ? plain_line(value.get<std::string>()) : json_text(value));
      out << ',';
    }
    const bool has_value = trial->state == TrialState::complete && trial->value;
    out << number_cell(has_value ? trial->value : std::nullopt);
    const auto others = others_of(*trial);
    for (std::size_t i = 0; i < view.others.size(); ++i)
      out << ',' << (i < others.size() ? number_cell(others[i]) : "");
    print_trial_cells(out, *trial);
  }
}

void print_trials(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view) {
  std::set<std::string> names;
  for (const auto& trial : trials) {
    for (const auto& [name, value] : trial.params.items()) names.insert(name);
  }
  std::vector<std::string> headings = {"trial", "phase", "state"};
  headings.insert(headings.end(), names.begin(), names.end());
  headings.push_back(printable(view.label, kResultViewNameLimitBytes));
  for (const Objective& other : view.others)
    headings.push_back(printable(label_of(other), kResultViewNameLimitBytes));
  const bool has_workers =
      std::ranges::any_of(trials, [](const TrialRow& trial) { return !trial.worker.empty(); });
  if (has_workers) headings.emplace_back("worker");
  headings.emplace_back("message");
  TextTable table(std::move(headings));
  for (const auto& trial : trials) {
    std::vector<std::string> cells = {std::to_string(trial.number),
                                      std::string(to_string(trial.phase)), state_of(trial)};
    for (const auto& name : names) {
      cells.push_back(trial.params.contains(name) ? cell(trial.params.at(name)) : "");
    }
    cells.push_back(measured_text(trial.value, trial.spread.value_or(0), view.unit));
    const auto others = others_of(trial);
    for (std::size_t i = 0; i < view.others.size(); ++i)
      cells.push_back(i < others.size() ? value_text(others[i], unit_of(view.others[i])) : "-");
    if (has_workers) cells.push_back(printable(trial.worker, kResultViewNameLimitBytes));
    cells.push_back(printable(trial.message, kMessageLimitBytes));
    table.add(std::move(cells));
  }
  table.print(out);
}

void print_heading(std::ostream& out, const StudyView& view) {
  const std::string what = view.workload.empty() ? "an unknown workload" : view.workload;
  const std::string where = view.topology ? place_text(*view.topology) : "an unknown topology";
  out << plain_line("study " + view.name + ": " + what + " on " + where) << '\n';
  print_list(out, "maximises ", maximised(view));
  print_list(out, "required ", view.constraints);
  print_list(out, "limited to ", view.limits);
}

std::string default_text(const Params& params, const DefaultSources& sources) {
  std::string text;
  for (const auto& [name, value] : params) {
    text += (text.empty() ? "" : ", ") + name + "=" + to_text(value);
    const auto source = sources.find(name);
    if (source == sources.end() || source->second.origin == DefaultOrigin::scheduler) continue;
    text += " (" + readable(source->second) + ")";
  }
  return plain_line(text);
}

std::string assumption_text(const Params& defaults, const DefaultSources& sources) {
  std::string values, options;
  for (const auto& name : assumed_parameters(sources)) {
    if (!defaults.contains(name)) continue;
    values += (values.empty() ? "" : ", ") + name + "=" + to_text(defaults.at(name));
    options += " --default " + name + "=VALUE";
  }
  if (values.empty()) return {};
  return "the default " + plain_line(values) +
         " is assumed, the middle of what is searched: the gain is against that, not against what "
         "the command does by itself; if you know it, give it:" +
         plain_line(options);
}

void print_result(std::ostream& out, const StudyResult& result, const StudyView& view) {
  const auto line = [&](const char* label, const MeasuredParams& measured,
                        const std::string& setting) {
    out << label << measured_text(measured.value, measured.spread, view.unit) << "  " << setting
        << '\n';
  };
  const Params& defaults = result.default_params.params;
  const bool is_assumed = !assumed_parameters(view.default_sources).empty();
  line("default  ", result.default_params,
       is_assumed ? default_text(defaults, view.default_sources) : params_text(defaults));
  if (result.best.value) line("best     ", result.best, params_text(result.best.params));
  if (result.interval) {
    out << "gain     " << percent_text(result.gain) << " (" << percent_text(result.interval->low)
        << " to " << percent_text(result.interval->high) << " with "
        << std::lround(100 * kGainConfidence) << " % confidence); needed: more than "
        << percent_text(result.needed) << '\n';
  }
  if (!result.stopped.empty()) out << "stopped: " << plain_line(result.stopped) << '\n';
  out << (result.promoted ? "promoted: " : "not promoted: ") << plain_line(result.reason) << '\n';
  if (const auto assumption = assumption_text(defaults, view.default_sources); !assumption.empty())
    out << assumption << '\n';
}

}  // namespace hocket
