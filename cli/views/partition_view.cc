#include "cli/views/partition_view.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Maximum lines of a table in plain text; JSON contains all.
constexpr std::size_t kMostPartitionLines = 40;
constexpr std::size_t kChangesLimitBytes = 200, kRefusalLimitBytes = 300;

std::string time_ns_text(std::int64_t ns) {
  return value_text(static_cast<double>(ns), ObjectiveUnit::nanoseconds);
}

/// Returns the knobs in which `to` differs from `from`; null for an override that `to` lacks.
nlohmann::json changes(const ScheduleConfig& from, const ScheduleConfig& to) {
  const auto values = knob_values(to);
  auto changed = nlohmann::json::object();
  for (const std::string& name : changed_knobs(from, to))
    changed[name] = values.value(name, nlohmann::json());
  return changed;
}

std::string changes_text(const nlohmann::json& changed) {
  std::string text;
  for (const auto& [name, value] : changed.items()) {
    text += (text.empty() ? "" : " ") + name + "=";
    text += value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
  }
  return printable(text, kChangesLimitBytes);
}

double ratio(std::int64_t ns, std::int64_t to_ns) {
  return static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(to_ns, 1));
}

/// Returns the difference to the choice, such as "+9.7 %".
std::string difference_text(const ConsideredPartition& rejected, const PartitionChoice& choice) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%",
                100 * (ratio(rejected.iteration_ns, choice.iteration_ns) - 1));
  return text;
}

/// Returns the number of knobs in which a configuration differs from the base.
std::size_t knobs_changed(const ExplainedStep& explained, const ScheduleConfig& config) {
  return changed_knobs(explained.base, config).size();
}

std::string reason(const ConsideredPartition& rejected, const ExplainedStep& explained) {
  const PartitionChoice& choice = explained.choice;
  if (!rejected.refusal.empty()) return rejected.refusal;
  if (rejected.iteration_ns < choice.iteration_ns) {
    const std::size_t more = knobs_changed(explained, rejected.config);
    const std::size_t fewer = knobs_changed(explained, choice.config);
    const std::string gain = "faster, but by no more than predictions err (about 2 %)";
    if (more <= fewer) return gain;
    return gain + ", and it changes " + std::to_string(more) + " of the base's knobs, the choice " +
           std::to_string(fewer);
  }
  if (rejected.iteration_ns <= choice.iteration_ns + choice.iteration_ns / 1000)
    return "not faster, and the choice is simpler or came first";
  return "slower";
}

void print_summary(std::ostream& out, const ExplainedStep& explained) {
  const PartitionChoice& choice = explained.choice;
  const auto changed = changes(explained.base, choice.config);
  char speedup[32];
  std::snprintf(speedup, sizeof speedup, "%.3f", ratio(choice.baseline_ns, choice.iteration_ns));
  TextTable table({"chosen", changed.empty() ? "the base: nothing is predicted to be clearly faster"
                                             : changes_text(changed)});
  table.add({"ranks", std::to_string(explained.ranks)});
  table.add({"iteration", time_ns_text(choice.iteration_ns)});
  table.add({"of the base", time_ns_text(choice.baseline_ns) + ", " +
                                printable(explained.base_name, kChangesLimitBytes)});
  table.add({"speed-up", speedup});
  table.add({"bound T*", time_ns_text(choice.bound_ns)});
  table.add(
      {"looked at", std::to_string(choice.rejected.size()) + " others" +
                        (choice.complete ? "" : ", then the search was cut short at its limit")});
  table.print(out);
}

/// Prints all that is predicted to be faster than the choice, the base, and of the others those
/// that differ from the choice in one knob: they say what that knob is worth.
void print_possible(std::ostream& out, const ExplainedStep& explained) {
  const PartitionChoice& choice = explained.choice;
  if (choice.rejected.empty()) return;
  out << "\nrejected, with what differs from the choice\n";
  TextTable table({"instead", "iteration", "difference", "why"});
  std::size_t lines = 0, others = 0;
  for (const ConsideredPartition& rejected : choice.rejected) {
    if (!rejected.refusal.empty()) continue;
    const auto changed = changes(choice.config, rejected.config);
    const bool is_base = rejected.config == explained.base;
    const bool is_faster = rejected.iteration_ns < choice.iteration_ns;
    if (!is_base && ((changed.size() > 1 && !is_faster) || lines == kMostPartitionLines)) {
      ++others;
      continue;
    }
    lines += is_base ? 0 : 1;
    table.add({changes_text(changed) + (is_base ? " (the base)" : ""),
               time_ns_text(rejected.iteration_ns), difference_text(rejected, choice),
               reason(rejected, explained)});
  }
  table.print(out);
  if (others > 0) out << "and " << others << " that differ in more; --json has all of them\n";
}

void print_refused(std::ostream& out, const PartitionChoice& choice) {
  TextTable table({"impossible", "why"});
  std::vector<std::string> shown;
  for (const ConsideredPartition& rejected : choice.rejected) {
    if (rejected.refusal.empty() || std::ranges::count(shown, rejected.refusal) > 0) continue;
    if (shown.size() == kMostPartitionLines) break;
    shown.push_back(rejected.refusal);
    table.add({changes_text(changes(choice.config, rejected.config)),
               printable(rejected.refusal, kRefusalLimitBytes)});
  }
  if (shown.empty()) return;
  out << '\n';
  table.print(out);
}

}  // namespace

nlohmann::json to_json(const ExplainedStep& explained) {
  const PartitionChoice& choice = explained.choice;
  auto rejected = nlohmann::json::array();
  for (const ConsideredPartition& other : choice.rejected) {
    const bool refused = !other.refusal.empty();
    rejected.push_back(
        {{"changes", changes(explained.base, other.config)},
         {"instead", changes(choice.config, other.config)},
         {"iteration_ns", refused ? nlohmann::json() : nlohmann::json(other.iteration_ns)},
         {"difference_ns",
          refused ? nlohmann::json() : nlohmann::json(other.iteration_ns - choice.iteration_ns)},
         {"reason", reason(other, explained)}});
  }
  return {{"of", "step " + explained.title},
          {"ranks", explained.ranks},
          {"iteration_ns", choice.iteration_ns},
          {"baseline_ns", choice.baseline_ns},
          {"bound_ns", choice.bound_ns},
          {"speedup", ratio(choice.baseline_ns, choice.iteration_ns)},
          {"changes", changes(explained.base, choice.config)},
          {"config", to_json(choice.config)},
          {"base", to_json(explained.base)},
          {"base_name", explained.base_name},
          {"complete", choice.complete},
          {"events", choice.events},
          {"rejected", std::move(rejected)}};
}

void print_partition(std::ostream& out, const ExplainedStep& explained) {
  out << "step " << printable(explained.title, kChangesLimitBytes)
      << ": how to partition it, by the simulator\n\n";
  print_summary(out, explained);
  print_possible(out, explained);
  print_refused(out, explained.choice);
}

}  // namespace hocket
