// hocket with: runs a command with its promoted setting.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/base/command_line.h"
#include "cli/inputs/access/key_source.h"
#include "cli/inputs/promotion/found_setting.h"
#include "cli/process/exec_command.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct WithOptions {
  SettingSource source;
  std::string study;
};

/// Returns the call without a setting, or an error if the command needs one.
Result<CommandCall> default_call(const StartedCommand& command, const Error& why,
                                 VerbContext& context) {
  const auto names = placeholders_of(command.words);
  if (!names.empty()) {
    return failure(ErrorCode::invalid_argument,
                   why.message + "; {" + names.front() +
                       "} in the command has no value: write one in its place, or find one with "
                       "hocket tune --param " +
                       names.front() + "=… -- " + shell_text(command.words));
  }
  context.err << "hocket: " << why.message << "; the command runs as it is" << std::endl;
  return CommandCall{command.words, {}};
}

Result<CommandCall> tuned_call(const StartedCommand& command, const FoundSetting& found,
                               VerbContext& context) {
  auto filled = filled_command(command.words, found);
  HOCKET_TRY(filled);
  for (const auto& note : filled->notes) context.err << "hocket: " << note << '\n';
  context.err << "hocket: " << setting_text(to_json(found.setting.params)) << ": " << found.origin
              << std::endl;
  return std::move(filled->call);
}

Result<int> run_with(const WithOptions& options, VerbContext& context) {
  auto words = required_command(context.command, "with");
  HOCKET_TRY(words);
  const auto command = started_here(std::move(*words));
  HOCKET_TRY(command);
  const std::string& daemon = options.source.daemon.address;
  if (!daemon.empty()) HOCKET_TRY(parse_daemon_address(daemon));
  // Whatever the reason for which there is no setting, it does not keep a job from starting.
  const auto found = setting_to_start(options.source, options.study, *command);
  const auto call = found ? tuned_call(*command, *found, context)
                          : default_call(*command, found.error(), context);
  HOCKET_TRY(call);
  context.out.flush();
  return failure(exec_command(*call));
}

}  // namespace

void add_with(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<WithOptions>();
  auto* verb = program.add_subcommand("with", "run a command with its promoted setting");
  auto* workload = verb->add_option("--workload", options->source.choice.workload,
                                    "that of this name (default: of the command's script or "
                                    "program)");
  verb->add_option("--study", options->study, "take the setting that this study promoted")
      ->excludes(workload);
  add_setting_source_options(*verb, options->source);
  verb->footer(
      "hocket with [options] -- COMMAND…\n"
      "The setting reaches COMMAND as in a trial of hocket tune: as environment variables and as\n"
      "{NAME} in its arguments. COMMAND takes the place of this program, so signals and the exit\n"
      "status are its own. Where nothing is promoted, or the store or the daemon does not say so\n"
      "within three seconds, it runs as it is.\n"
      "Example:\n  hocket with -- torchrun --nproc-per-node 2 train.py --bucket-mb {BUCKET}\n");
  verb->callback([options, &action] {
    auto& choice = options->source.choice;
    if (options->source.world_size > 0) choice.world_size = options->source.world_size;
    choice.workload = workload_selector(choice.workload);
    action = [options](VerbContext& c) { return run_with(*options, c); };
  });
}

}  // namespace hocket
