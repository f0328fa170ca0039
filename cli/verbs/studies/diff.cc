// hocket studies diff: two studies against each other.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "archive/studies/interim_study.h"
#include "archive/studies/open_study.h"
#include "archive/studies/study_diff.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/studies/studies_verbs.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kDiffTextLimitBytes = 300;

struct DiffOptions {
  std::string first, second;
};

Result<ComparedStudy> read_compared_study(Store& store, const std::string& name) {
  const auto study = store.study(name);
  HOCKET_TRY(study);
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in("study " + study->name));
  auto topology = topology_of(store, *study);
  HOCKET_TRY(topology);
  const auto workload = workload_of(store, *study);
  HOCKET_TRY(workload);
  const auto history = read_history(store, study->id);
  HOCKET_TRY(history);
  definition->objective = resolved_objective(definition->objective, *history);
  ComparedStudy compared{.name = study->name,
                         .command = study->command,
                         .definition = std::move(*definition),
                         .topology = std::move(*topology),
                         .workload = fingerprint(*workload)};
  if (!study->result.is_null()) {
    auto result = study_result_from_json(study->result);
    if (!result) return failure(result.error().in("result of study " + study->name));
    compared.result = std::move(*result);
    return compared;
  }
  auto interim = interim_study(store, *study);
  if (!interim) return failure(interim.error().in("study " + study->name));
  compared.result = std::move(interim->result);
  return compared;
}

std::string value_with_spread(const ComparedStudy& study, const MeasuredParams& measured) {
  return measured_text(measured.value, measured.spread, unit_of(study.definition.objective));
}

std::string state_text_of(const ComparedStudy& study) {
  if (study.result.is_interim) return "not confirmed";
  if (!study.result.best.value) return "no trial completed";
  return study.result.promoted ? "promoted" : "default stays";
}

/// Returns for example "10.0 % lower, beyond the spread of both".
std::string change_of(const ComparedValue& value) {
  if (value.first == value.second) return "equal";
  const bool is_lower = value.second < value.first;
  std::string text = value.change ? percent_text(std::abs(*value.change)) + " " : std::string();
  text += is_lower ? "lower" : "higher";
  return text +
         (value.is_beyond_spread ? ", beyond the spread of both" : ", within the spread of both");
}

void print_comparison(std::ostream& out, const ComparedStudy& first, const ComparedStudy& second,
                      const StudyDiff& diff) {
  for (const std::string& reason : diff.incomparable)
    out << "not comparable: " << printable(reason, kDiffTextLimitBytes) << '\n';
  if (!diff.incomparable.empty()) return;
  if (diff.of_defaults)
    out << "default of " << second.name << ": " << change_of(*diff.of_defaults) << '\n';
  if (!diff.defaults.empty()) out << "the defaults are different settings, and not compared\n";
  if (diff.of_best) {
    const bool is_max = first.definition.objective.direction == Direction::maximise;
    out << "best of " << second.name << ": " << change_of(*diff.of_best) << " ("
        << (is_max ? "higher" : "lower") << " is better)\n";
  } else {
    out << "the best are not compared: "
        << (diff.why_not_best.empty() ? "one of them has no value"
                                      : printable(diff.why_not_best, kDiffTextLimitBytes))
        << '\n';
  }
}

void print_diff(std::ostream& out, const ComparedStudy& first, const ComparedStudy& second,
                const StudyDiff& diff) {
  TextTable table({"", first.name, second.name});
  const auto shown = [](const std::string& text) {
    return text.empty() ? std::string("-") : printable(text, kDiffTextLimitBytes);
  };
  table.add({"default", value_with_spread(first, first.result.default_params),
             value_with_spread(second, second.result.default_params)});
  table.add({"best", value_with_spread(first, first.result.best),
             value_with_spread(second, second.result.best)});
  table.add({"result", state_text_of(first), state_text_of(second)});
  for (const Differing& one : diff.defaults)
    table.add({"default " + one.name, shown(one.first), shown(one.second)});
  for (const Differing& one : diff.best)
    table.add({"best " + one.name, shown(one.first), shown(one.second)});
  for (const Differing& one : diff.parameters)
    table.add({"searched " + one.name, shown(one.first), shown(one.second)});
  table.print(out);
  if (diff.best.empty()) out << "the best settings are the same\n";
  print_comparison(out, first, second, diff);
}

nlohmann::json differing_json(const std::vector<Differing>& differing) {
  auto list = nlohmann::json::array();
  for (const Differing& one : differing)
    list.push_back({{"name", one.name}, {"first", one.first}, {"second", one.second}});
  return list;
}

nlohmann::json compared_json(const std::optional<ComparedValue>& value) {
  if (!value) return {};
  return {{"change", value->change ? nlohmann::json(*value->change) : nlohmann::json()},
          {"beyond_spread", value->is_beyond_spread}};
}

nlohmann::json side_json(const ComparedStudy& study) {
  return {{"study", study.name},
          {"unit", to_string(unit_of(study.definition.objective))},
          {"interim", study.result.is_interim},
          {"result", to_json(study.result)}};
}

Result<int> diff_studies(const StudiesOptions& common, const DiffOptions& options,
                         VerbContext& context) {
  const auto store = open_for_reading(common.store);
  HOCKET_TRY(store);
  const auto first = read_compared_study(**store, options.first);
  HOCKET_TRY(first);
  const auto second = read_compared_study(**store, options.second);
  HOCKET_TRY(second);
  const StudyDiff diff = study_diff(*first, *second);
  if (!common.json) {
    print_diff(context.out, *first, *second, diff);
    return kDone;
  }
  context.out << json_text({{"first", side_json(*first)},
                            {"second", side_json(*second)},
                            {"parameters", differing_json(diff.parameters)},
                            {"defaults", differing_json(diff.defaults)},
                            {"best", differing_json(diff.best)},
                            {"incomparable", diff.incomparable},
                            {"default_change", compared_json(diff.of_defaults)},
                            {"best_change", compared_json(diff.of_best)},
                            {"why_best_is_not_compared", diff.why_not_best}})
              << '\n';
  return kDone;
}

}  // namespace

void add_diff_studies(CLI::App& studies, const std::shared_ptr<StudiesOptions>& common,
                      VerbAction& action) {
  auto options = std::make_shared<DiffOptions>();
  auto* verb = studies.add_subcommand("diff", "compare two studies");
  verb->add_option("A", options->first, "its name or number")->required();
  verb->add_option("B", options->second, "its name or number")->required();
  add_common_options(*verb, *common);
  verb->footer(
      "Shows the defaults and the best settings of both, with ± (half the interquartile range), "
      "and\n"
      "what they searched where it differs. Values are held against each other only if both\n"
      "measured the same: objective, direction, unit, command, content of its files and topology.\n"
      "A best setting that nothing has confirmed is not compared.\n"
      "Example:\n  hocket studies diff gpt2-3 gpt2-4\n");
  verb->callback([common, options, &action] {
    action = [common, options](VerbContext& c) { return diff_studies(*common, *options, c); };
  });
}

}  // namespace hocket
