// hocket with: runs a command with its promoted setting.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/inputs/command_line.h"
#include "cli/inputs/found_setting.h"
#include "cli/inputs/store_access.h"
#include "cli/process/exec_command.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/shell_text.h"
#include "core/host/topology_probe.h"
#include "tuner/archive/plain_job.h"
#include "tuner/archive/program_promotion.h"

namespace hocket {
namespace {

struct WithOptions {
  SettingSource source;
  std::string study;
};

/// A command and the folder it is started in.
struct StartedCommand {
  std::vector<std::string> words;
  std::string folder;
};

bool has_all(const Promoted& promoted, const std::vector<std::string>& names) {
  return std::ranges::all_of(
      names, [&](const std::string& name) { return promoted.promotion.config.contains(name); });
}

/// Says for which other programs of the same name there is something, which may be this one before
/// it was moved.
Error nothing_for(Store& store, const std::string& program) {
  std::string message = "nothing is promoted for " + program;
  const std::string name = program.substr(program.rfind('/') + 1);
  std::string others;
  if (const auto all = current_promotions(store)) {
    for (const Promoted& each : *all) {
      if (each.workload.name != name) continue;
      others += (others.empty() ? "" : ", ") + std::string("--workload ") +
                each.workload.fingerprint.substr(0, 8) + " is " + program_of(each.workload) +
                " on " + place_text(each.topology);
    }
  }
  if (!others.empty()) message += "; there are others of this name: " + others;
  return {ErrorCode::not_found, message};
}

Result<Promoted> choose_in(Store& store, const WithOptions& options,
                           const StartedCommand& command) {
  if (!options.study.empty()) return promotion_of_study(store, options.study);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  if (!options.source.choice.workload.empty()) {
    const auto current = current_promotions(store);
    HOCKET_TRY(current);
    return choose(*current, options.source.choice, *host);
  }
  auto found = promotions_of_program(store, command.words, command.folder, *host);
  HOCKET_TRY(found);
  const auto names = placeholders_of(command.words);
  std::ranges::stable_partition(*found, [&](const Promoted& each) { return has_all(each, names); });
  PromotionChoice place = options.source.choice;
  for (Promoted& each : *found) {
    place.workload = each.workload.fingerprint;
    if (!matching({each}, place, *host).empty()) return std::move(each);
  }
  return failure(nothing_for(store, program_of(command.words, command.folder)));
}

Result<FoundSetting> find_setting(const WithOptions& options, const StartedCommand& command) {
  if (options.study.empty() && asks_daemon(options.source.daemon, options.source.store)) {
    PromotionChoice choice = options.source.choice;
    if (choice.workload.empty()) choice.workload = program_of(command.words, command.folder);
    return found_setting(options.source.daemon, choice);
  }
  const auto store = open_for_reading(options.source.store);
  HOCKET_TRY(store);
  const auto promoted = choose_in(**store, options, command);
  HOCKET_TRY(promoted);
  return found_setting(**store, *promoted);
}

/// Returns whether a command may run without a setting for this reason.
bool is_absence(const Error& error) {
  return error.code == ErrorCode::not_found || error.code == ErrorCode::unavailable ||
         error.code == ErrorCode::timed_out;
}

/// Returns the call without a setting, or an error if the command needs one.
Result<CommandCall> default_call(const StartedCommand& command, const Error& why,
                                 Context& context) {
  const auto names = placeholders_of(command.words);
  if (!names.empty()) {
    return failure(ErrorCode::invalid_argument,
                   why.message + "; {" + names.front() +
                       "} in the command has no value: write one in its place, or find one with "
                       "hocket tune --param " +
                       names.front() + "=… -- " + shell_text(command.words));
  }
  context.err << "hocket: " << why.message << "; the command runs with its own defaults"
              << std::endl;
  return CommandCall{command.words, {}};
}

Result<CommandCall> tuned_call(const StartedCommand& command, const FoundSetting& found,
                               Context& context) {
  auto call = call_with(command.words, found.setting);
  HOCKET_TRY(call);
  std::string missing;
  for (const auto& name : placeholders_of(command.words)) {
    if (!found.setting.params.contains(name)) missing += " {" + name + "}";
  }
  if (!missing.empty()) context.err << "hocket: the setting has no value for" << missing << '\n';
  context.err << "hocket: " << setting_text(to_json(found.setting.params)) << ": " << found.origin
              << std::endl;
  return call;
}

Result<int> run_with(const WithOptions& options, Context& context) {
  auto words = required_command(context.command, "with");
  HOCKET_TRY(words);
  std::error_code error;
  const auto folder = std::filesystem::current_path(error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "the working directory cannot be read: " + error.message());
  }
  const StartedCommand command{std::move(*words), folder.string()};
  const auto found = find_setting(options, command);
  if (!found && !is_absence(found.error())) return failure(found.error());
  const auto call =
      found ? tuned_call(command, *found, context) : default_call(command, found.error(), context);
  HOCKET_TRY(call);
  context.out.flush();
  return failure(exec_command(*call));
}

}  // namespace

void add_with(CLI::App& program, Action& action) {
  auto options = std::make_shared<WithOptions>();
  auto* verb = program.add_subcommand("with", "run a command with its promoted setting");
  auto* workload = verb->add_option("--workload", options->source.choice.workload,
                                    "that of this name (default: of the command's script or "
                                    "program)");
  verb->add_option("--study", options->study, "the one that this study promoted")
      ->excludes(workload);
  add_setting_source_options(*verb, options->source);
  verb->footer(
      "hocket with [options] -- COMMAND…\n"
      "The setting reaches COMMAND as in a trial of hocket tune: as environment variables and as\n"
      "{NAME} in its arguments. COMMAND takes the place of this program, so signals and the exit\n"
      "status are its own. Where nothing is promoted it runs with its own defaults.\n"
      "Example:\n  hocket with -- torchrun --nproc-per-node 2 train.py --bucket-mb {BUCKET}\n");
  verb->callback([options, &action] {
    auto& choice = options->source.choice;
    if (options->source.world_size > 0) choice.world_size = options->source.world_size;
    choice.workload = workload_selector(choice.workload);
    action = [options](Context& c) { return run_with(*options, c); };
  });
}

}  // namespace hocket
