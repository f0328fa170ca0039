#include "cli/views/front_view.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "cli/output/table.h"
#include "core/base/text.h"
#include "core/step/tool_knob.h"
#include "tuner/trial/command_call.h"

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
  const auto is_placed = [](const auto& each) { return is_tool_knob(each.first); };
  if (std::ranges::any_of(params, is_placed)) return {};
  auto call = call_with(command, params);
  if (!call) return {};
  std::vector<std::string> words{"env"};
  for (const auto& name : call->absent) words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : call->environment) words.push_back(name + "=" + value);
  words.insert(words.end(), call->argv.begin(), call->argv.end());
  return shell_text(words);
}

/// A value of a setting with its spread.
struct FrontValue {
  std::optional<double> value;
  double spread = 0;
};

/// Returns the value of objective `index`; nothing if there is none.
FrontValue value_of(const MeasuredParams& measured, std::size_t index) {
  if (index == 0 || !measured.value) return {measured.value, measured.spread};
  return {at(measured.others, index - 1), at(measured.other_spreads, index - 1).value_or(0)};
}

std::string state_text(const FrontPoint& point) {
  const std::string runs = std::to_string(point.runs) + " more runs";
  switch (point.state) {
    case FrontState::confirmed:
      return "confirmed in " + runs;
    case FrontState::unconfirmed:
      return "not confirmed in " + runs;
    case FrontState::searched:
      break;
  }
  return point.runs > 0 ? runs : "measured once";
}

}  // namespace

void print_front(std::ostream& out, const StudyResult& result, const StudyView& view,
                 const std::vector<std::string>& command, const std::string& store_argument) {
  const MeasuredParams& standard = result.default_params;
  std::vector<std::string> headings{"trial", printable(view.label, kFrontViewNameLimitBytes),
                                    "change"};
  std::vector<ObjectiveUnit> units{view.unit};
  for (const Objective& other : view.others) {
    headings.push_back(printable(label_of(other), kFrontViewNameLimitBytes));
    headings.emplace_back("change");
    units.push_back(unit_of(other));
  }
  headings.insert(headings.end(), {"measured again", "setting"});
  TextTable table(std::move(headings));
  const auto add = [&](std::string label, const MeasuredParams& measured, std::string state) {
    std::vector<std::string> cells{std::move(label)};
    for (std::size_t i = 0; i < units.size(); ++i) {
      const auto [value, spread] = value_of(measured, i);
      cells.push_back(measured_text(value, spread, units[i]));
      cells.push_back(change_text(value, value_of(standard, i).value));
    }
    cells.push_back(std::move(state));
    cells.push_back(printable(params_text(measured.params), kSettingLimitBytes));
    table.add(std::move(cells));
  };
  const auto is_default = [&](const FrontPoint& p) { return p.measured.params == standard.params; };
  const bool stays = std::ranges::any_of(result.front, is_default);
  if (!stays) add("default", standard, "");
  for (const FrontPoint& point : result.front) {
    add(is_default(point) ? "default" : std::to_string(point.number + 1), point.measured,
        state_text(point));
  }
  out << "the front: what no setting beats in all objectives"
      << (stays            ? ""
          : standard.value ? "; the default is beaten"
                           : "; the default failed")
      << '\n';
  table.print(out);
  out << "confirmed: measured again beside the default, and better in at least one objective\n"
      << "not promoted: " << result.reason << '\n';
  const Params& defaults = standard.params;
  if (const auto assumption = assumption_text(defaults, view.default_sources); !assumption.empty())
    out << assumption << '\n';
  // One that is confirmed is the better example.
  auto example = std::ranges::find(result.front, FrontState::confirmed, &FrontPoint::state);
  if (example == result.front.end()) example = std::ranges::find_if_not(result.front, is_default);
  if (example == result.front.end()) return;
  if (!result.is_interim)
    out << "promote one of them by its number: hocket studies promote " << view.name << " "
        << example->number + 1 << store_argument << '\n';
  const std::string call = call_text(command, example->measured.params);
  if (call.empty()) return;
  out << "take one into use by giving it to the job, trial " << example->number + 1
      << " for example: " << call << '\n';
}

}  // namespace hocket
