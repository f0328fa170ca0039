#include "tuner/slurm/task_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::array<std::pair<std::string_view, SlurmState>, 27> kStates = {{
    {"PENDING", SlurmState::pending},       {"CONFIGURING", SlurmState::pending},
    {"POWER_UP_NODE", SlurmState::pending}, {"REQUEUE_HOLD", SlurmState::pending},
    {"RESV_DEL_HOLD", SlurmState::pending}, {"SPECIAL_EXIT", SlurmState::pending},
    {"RUNNING", SlurmState::running},       {"RESIZING", SlurmState::running},
    {"SIGNALING", SlurmState::running},     {"SUSPENDED", SlurmState::suspended},
    {"STOPPED", SlurmState::suspended},     {"COMPLETING", SlurmState::completing},
    {"STAGE_OUT", SlurmState::completing},  {"COMPLETED", SlurmState::completed},
    {"FAILED", SlurmState::failed},         {"LAUNCH_FAILED", SlurmState::failed},
    {"TIMEOUT", SlurmState::timed_out},     {"DEADLINE", SlurmState::timed_out},
    {"PREEMPTED", SlurmState::preempted},   {"NODE_FAIL", SlurmState::node_failed},
    {"BOOT_FAIL", SlurmState::node_failed}, {"OUT_OF_MEMORY", SlurmState::out_of_memory},
    {"CANCELLED", SlurmState::cancelled},   {"REVOKED", SlurmState::cancelled},
    {"REQUEUED", SlurmState::requeued},     {"REQUEUE_FED", SlurmState::requeued},
    {"RECONFIG_FAIL", SlurmState::failed},
}};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (auto bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
    fields.push_back(trimmed(line.substr(0, bar)));
    line.remove_prefix(bar + 1);
  }
  fields.push_back(trimmed(line));
  return fields;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns a field, or "" for the words that stand for nothing.
std::string known(std::string_view field) {
  for (const std::string_view nothing :
       {"None", "(null)", "N/A", "n/a", "Unknown", "None assigned"})
    if (field == nothing) return "";
  return printable(field, 500);
}

/// Reads "7:0", the status and the signal, or a status as of wait().
std::optional<SlurmExit> exit_in(std::string_view field) {
  if (const auto colon = field.find(':'); colon != std::string_view::npos) {
    const auto status = number_in<int>(field.substr(0, colon));
    const auto signal = number_in<int>(field.substr(colon + 1));
    if (!status || !signal) return std::nullopt;
    return SlurmExit{*status, *signal};
  }
  const auto raw = number_in<std::int64_t>(field);
  if (!raw || *raw > 0xffff) return std::nullopt;
  return SlurmExit{static_cast<int>(*raw >> 8), static_cast<int>(*raw & 0x7f)};
}

tl::unexpected<Error> unreadable(std::string_view program, std::string_view line) {
  return invalid(std::string(program) + " printed \"" + printable(line, 200) +
                 "\", which is no task of an array; versions 20.11 and later of Slurm are known");
}

void set_state(SlurmTask& task, std::string_view word, std::string_view exit) {
  task.state = slurm_state(word);
  task.state_text = printable(word, 100);
  if (has_ended(task.state)) task.exit = exit_in(exit);
}

/// Calls `read(line)` for each line that is not empty, until it returns an error.
template <class Read>
Result<void> for_each_line(std::string_view text, const Read& read) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    HOCKET_TRY(read(line));
  }
  return {};
}

}  // namespace

SlurmState slurm_state(std::string_view word) {
  word = word.substr(0, word.find_first_of(" +"));
  const auto found = std::find_if(kStates.begin(), kStates.end(),
                                  [&](const auto& known) { return known.first == word; });
  return found == kStates.end() ? SlurmState::other : found->second;
}

bool has_ended(SlurmState state) {
  switch (state) {
    case SlurmState::completed:
    case SlurmState::failed:
    case SlurmState::timed_out:
    case SlurmState::preempted:
    case SlurmState::node_failed:
    case SlurmState::out_of_memory:
    case SlurmState::cancelled:
    case SlurmState::gone:
      return true;
    default:
      return false;
  }
}

Result<std::vector<SlurmTask>> tasks_from_squeue(std::string_view text) {
  std::vector<SlurmTask> tasks;
  const auto read = [&](std::string_view line) -> Result<void> {
    const auto fields = fields_of(line);
    if (fields.size() != 9 || !fields[8].empty()) return unreadable("squeue", line);
    if (fields[0] == "N/A") return {};
    const auto index = number_in<int>(fields[0]);
    const auto restarts = number_in<int>(fields[3]);
    if (!index || !restarts || fields[1].empty() || !is_number(fields[5]))
      return unreadable("squeue", line);
    SlurmTask& task = tasks.emplace_back();
    task.index = *index;
    set_state(task, fields[1], fields[2]);
    task.restarts = *restarts;
    task.is_being_preempted = !known(fields[4]).empty();
    task.job_id = fields[5];
    task.nodes = known(fields[6]);
    task.reason = known(fields[7]);
    return {};
  };
  HOCKET_TRY(for_each_line(text, read));
  return tasks;
}

Result<std::vector<SlurmTask>> tasks_from_sacct(std::string_view text) {
  std::vector<SlurmTask> tasks;
  const auto read = [&](std::string_view line) -> Result<void> {
    const auto fields = fields_of(line);
    if (fields.size() != 5 || fields[2].empty()) return unreadable("sacct", line);
    const auto underscore = fields[0].find('_');
    if (underscore == std::string_view::npos || fields[0].substr(underscore).starts_with("_["))
      return {};
    const auto index = number_in<int>(fields[0].substr(underscore + 1));
    if (!index || !is_number(fields[1])) return unreadable("sacct", line);
    SlurmTask& task = tasks.emplace_back();
    task.index = *index;
    task.job_id = fields[1];
    set_state(task, fields[2], fields[3]);
    task.nodes = known(fields[4]);
    return {};
  };
  HOCKET_TRY(for_each_line(text, read));
  return tasks;
}

}  // namespace hocket
