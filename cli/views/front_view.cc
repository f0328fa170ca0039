#include "cli/views/front_view.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "cli/output/table.h"
#include "core/base/printable_text.h"
#include "core/base/shell_text.h"
#include "tuner/trial/command_runner.h"

namespace hocket {
namespace {

constexpr std::size_t kFrontViewNameLimitBytes = 60;
constexpr std::size_t kSettingLimitBytes = 400;

std::optional<double> at(const std::vector<double>& values, std::size_t index) {
  return index < values.size() ? std::optional(values[index]) : std::nullopt;
}

/// Returns for example "-12.3 %"; "-" if there is no value to compare with.
std::string change_text(std::optional<double> value, std::optional<double> by_default) {
  if (!value || !by_default || !(*by_default > 0)) return "-";
  char text[40];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * (*value / *by_default - 1));
  return text;
}

/// Returns the command with a setting in its environment, quoted for a shell; empty if the setting
/// cannot be applied to the command.
std::string call_text(const std::vector<std::string>& command, const Params& params) {
  auto call = call_with(command, params);
  if (!call) return {};
  std::vector<std::string> words{"env"};
  for (const auto& [name, value] : call->environment) words.push_back(name + "=" + value);
  words.insert(words.end(), call->argv.begin(), call->argv.end());
  return shell_text(words);
}

std::vector<double> values_of(double value, const std::vector<double>& others) {
  std::vector<double> values{value};
  values.insert(values.end(), others.begin(), others.end());
  return values;
}

}  // namespace

void print_front(std::ostream& out, const StudyResult& result, const StudyView& view,
                 const std::vector<std::string>& command) {
  const MeasuredParams& standard = result.default_params;
  const auto by_default =
      standard.value ? values_of(*standard.value, standard.others) : std::vector<double>();
  std::vector<std::string> headings{"trial", printable(view.objective, kFrontViewNameLimitBytes),
                                    "change"};
  std::vector<Unit> units{view.unit};
  for (const Objective& other : view.others) {
    headings.push_back(printable(to_text(other), kFrontViewNameLimitBytes));
    headings.emplace_back("change");
    units.push_back(unit_of(other));
  }
  headings.emplace_back("setting");
  Table table(std::move(headings));
  const auto add = [&](std::string label, const std::vector<double>& values, const Params& params) {
    std::vector<std::string> cells{std::move(label)};
    for (std::size_t i = 0; i < units.size(); ++i) {
      const auto value = at(values, i);
      cells.push_back(value ? value_text(*value, units[i]) : "-");
      cells.push_back(change_text(value, at(by_default, i)));
    }
    cells.push_back(printable(params_text(params), kSettingLimitBytes));
    table.add(std::move(cells));
  };
  const auto is_default = [&](const FinishedTrial& t) { return t.params == standard.params; };
  if (std::ranges::none_of(result.front, is_default)) add("default", by_default, standard.params);
  for (const FinishedTrial& trial : result.front) {
    add(is_default(trial) ? "default" : std::to_string(trial.number + 1),
        values_of(trial.outcome.value, trial.outcome.others), trial.params);
  }
  const bool stays = std::ranges::any_of(result.front, is_default);
  out << "the front: what no setting beats in all objectives, each measured in one trial"
      << (stays            ? ""
          : standard.value ? "; the default is beaten"
                           : "; the default failed")
      << '\n';
  table.print(out);
  out << "not promoted: " << result.reason << '\n';
  const auto example = std::ranges::find_if_not(result.front, is_default);
  if (example == result.front.end()) return;
  const std::string call = call_text(command, example->params);
  if (call.empty()) return;
  out << "take one into use by giving it to the job, trial " << example->number + 1
      << " for example: " << call << '\n';
}

}  // namespace hocket
