// hocket studies: lists all studies of the store.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/command_line.h"
#include "cli/inputs/store_access.h"
#include "cli/output/table.h"
#include "cli/verbs/verb.h"
#include "cli/views/result_view.h"
#include "core/base/printable_text.h"
#include "core/base/shell_text.h"
#include "tuner/archive/owner.h"
#include "tuner/archive/study_result.h"

namespace hocket {
namespace {

struct StudiesOptions {
  std::string store;
  bool json = false;
};

struct StudyLine {
  StudyRow study;
  StudyView view;
  std::size_t trials = 0;
};

constexpr std::size_t kCommandLimitBytes = 60;

Result<std::vector<StudyLine>> read_lines(Store& store) {
  auto studies = store.studies();
  HOCKET_TRY(studies);
  std::vector<StudyLine> lines;
  for (auto& study : *studies) {
    auto view = study_view(store, study);
    HOCKET_TRY(view);
    const auto trials = store.trials(study.id, TrialDetail::summary);
    HOCKET_TRY(trials);
    lines.push_back({std::move(study), std::move(*view), trials->size()});
  }
  return lines;
}

/// Returns the state; a running study whose process is gone is shown as interrupted.
std::string state_text(const StudyRow& study, const HostView& host) {
  const bool is_orphan =
      study.state == StudyState::running && owner_state(study.owner, host) == OwnerState::gone;
  return std::string(to_string(is_orphan ? StudyState::interrupted : study.state));
}

/// Returns for example "19.8 % better", "19.8 % better than assumed" (where the default is) or
/// "default stays"; empty if there is no result.
std::string outcome_text(const StudyRow& study, const StudyView& view) {
  const auto result = study_result_from_json(study.result);
  if (!result) return {};
  if (!result->best.value) return "no trial completed";
  if (!result->front.empty()) {
    const auto confirmed =
        std::ranges::count(result->front, FrontState::confirmed, &FrontPoint::state);
    return "a front of " + std::to_string(result->front.size()) + ", " + std::to_string(confirmed) +
           " confirmed";
  }
  if (!result->promoted) return "default stays";
  if (!(result->gain > 0)) return "default failed";
  const bool is_assumed = !assumed_parameters(view.default_sources).empty();
  return percent_text(result->gain) + " better" + (is_assumed ? " than assumed" : "");
}

nlohmann::json line_json(const StudyLine& line, const HostView& host) {
  auto document = to_json(line.view);
  document["name"] = line.study.name;
  document["state"] = state_text(line.study, host);
  document["command"] = line.study.command;
  document["trials"] = line.trials;
  document["created_at"] = time_text(line.study.created_at_ns);
  document["updated_at"] = time_text(line.study.updated_at_ns);
  document["result"] = line.study.result;
  return document;
}

Result<int> show_studies(const StudiesOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "studies"));
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  const auto lines = read_lines(**store);
  HOCKET_TRY(lines);
  const HostView host = this_host();
  if (options.json) {
    auto list = nlohmann::json::array();
    for (const auto& line : *lines) list.push_back(line_json(line, host));
    context.out << json_text({{"studies", std::move(list)}}) << '\n';
    return kDone;
  }
  Table table({"study", "state", "trials", "workload", "created", "result", "topology", "command"});
  for (const auto& line : *lines) {
    table.add({line.study.name, state_text(line.study, host), std::to_string(line.trials),
               printable(line.view.workload, kCommandLimitBytes),
               time_text(line.study.created_at_ns), outcome_text(line.study, line.view),
               place_text(line.view.topology),
               printable(shell_text(line.study.command), kCommandLimitBytes)});
  }
  table.print(context.out);
  return kDone;
}

}  // namespace

void add_studies(CLI::App& program, Action& action) {
  auto options = std::make_shared<StudiesOptions>();
  auto* verb = program.add_subcommand("studies", "list the studies of the store");
  verb->add_option("--store", options->store, "the store's file");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket studies\n");
  verb->callback(
      [options, &action] { action = [options](Context& c) { return show_studies(*options, c); }; });
}

}  // namespace hocket
