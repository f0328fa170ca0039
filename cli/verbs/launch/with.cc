// hocket with: runs a command with its promoted setting.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "cli/base/command_line.h"
#include "cli/inputs/access/key_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/inputs/promotion/found_setting.h"
#include "cli/inputs/promotion/unconfirmed_setting.h"
#include "cli/process/exec_command.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/bounded_call.h"
#include "core/base/clock.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "core/files/scratch_folder.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/call/knob_call.h"

namespace hocket {
namespace {

struct WithOptions {
  SettingSource source;
  std::string study;
};

/// A start may take three seconds, whatever the store does.
constexpr std::int64_t kStartLimitNs = 2'900'000'000;

/// Returns the names of the parameters of all studies in the store; none if it cannot be read
/// within `limit_ns`.
std::set<std::string> tuned_names(const SettingSource& source, std::int64_t limit_ns) {
  const auto read = [option = source.store]() -> Result<std::set<std::string>> {
    const auto store = open_for_reading(option);
    HOCKET_TRY(store);
    UnreadRows unread;
    const auto studies = (*store)->studies(&unread);
    HOCKET_TRY(studies);
    std::set<std::string> names;
    for (const StudyRow& study : *studies) {
      const auto definition = study_definition_from_json(study.definition);
      if (!definition) continue;
      for (const Parameter& one : definition->space.parameters()) names.insert(one.name);
    }
    return names;
  };
  return call_within(limit_ns, "the store", read).value_or(std::set<std::string>());
}

/// Returns the call without a setting, or an error if the command needs one.
Result<CommandCall> default_call(const StartedCommand& command, const SettingSource& source,
                                 std::int64_t limit_ns, const Error& why, VerbContext& context) {
  const auto names = placeholders_of(command.words);
  const bool is_silent = why.code == ErrorCode::timed_out;
  const auto tuned =
      names.empty() || is_silent ? std::set<std::string>() : tuned_names(source, limit_ns);
  for (const std::string& name : names) {
    if (tuned.contains(name)) {
      return failure(ErrorCode::invalid_argument,
                     why.message + "; {" + name +
                         "} in the command has no value: write one in its place, or find one with "
                         "`hocket tune --param " +
                         name + "=int:1..64 -- " + shell_text(command.words) + "`");
    }
    context.err << "hocket: {" << name << "} has no value and stays as it is\n";
  }
  context.err << plain_line("hocket: " + context.placed(why.message)) +
                     "; the command runs as it is"
              << std::endl;
  return CommandCall{command.words, {}};
}

/// `folder` holds the files of the call until the command has ended.
Result<CommandCall> tuned_call(const StartedCommand& command, const FoundSetting& found,
                               std::optional<ScratchFolder>& folder, VerbContext& context) {
  if (has_copied_documents(found)) {
    auto made = ScratchFolder::make();
    HOCKET_TRY(made);
    folder.emplace(std::move(*made));
    folder->pass_on();
  }
  auto filled = filled_command(command.words, found,
                               surroundings_of(command.folder, folder ? folder->path() : ""));
  HOCKET_TRY(filled);
  HOCKET_TRY(write_files(filled->call));
  for (const auto& note : filled->notes) context.err << plain_line("hocket: " + note) << '\n';
  context.err << plain_line("hocket: " + setting_text(to_json(found.setting.params)) + ": " +
                            found.origin)
              << std::endl;
  return std::move(filled->call);
}

/// Says what an unfinished study recommends for the command, if the store says so in `limit_ns`.
void note_unconfirmed(const WithOptions& options, const StartedCommand& command,
                      std::int64_t limit_ns, VerbContext& context) {
  if (options.study.empty() && asks_daemon(options.source.daemon, options.source.store)) return;
  const auto read = [options, command]() -> Result<std::string> {
    const auto store = open_for_reading(options.source.store);
    HOCKET_TRY(store);
    if (options.study.empty())
      return unconfirmed_text(**store, options.source.choice, command, options.source.store);
    const auto study = (*store)->study(options.study);
    HOCKET_TRY(study);
    return unconfirmed_text(**store, *study, options.source.store);
  };
  const auto text = call_within(limit_ns, "the store", read);
  if (text && !text->empty()) context.err << "hocket: " << *text << '\n';
}

Result<int> run_with(const WithOptions& options, VerbContext& context) {
  auto words = required_command(context.command, "with");
  HOCKET_TRY(words);
  const auto command = started_here(std::move(*words));
  HOCKET_TRY(command);
  const std::string& daemon = options.source.daemon.address;
  if (!daemon.empty()) HOCKET_TRY(parse_daemon_address(daemon));
  SettingSource source = options.source;
  source.choice.command = "hocket with";
  source.choice.command_end = " -- " + shell_text(command->words);
  // Whatever the reason for which there is no setting, it does not keep a job from starting.
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  const auto found = setting_to_start(source, options.study, *command);
  const auto left_ns = [&] {
    return std::max<std::int64_t>(0, kStartLimitNs - (clock.now_ns() - begin_ns));
  };
  if (!found && found.error().code == ErrorCode::not_found)
    note_unconfirmed(options, *command, left_ns() / 2, context);
  std::optional<ScratchFolder> folder;
  auto call = found ? tuned_call(*command, *found, folder, context)
                    : default_call(*command, source, left_ns(), found.error(), context);
  // Nor does a file of the setting that cannot be written here.
  if (!call && found && call.error().code == ErrorCode::unavailable)
    call = default_call(*command, source, left_ns(), Error(call.error()), context);
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
  add_knob_file_option(*verb, options->source);
  add_setting_source_options(*verb, options->source);
  verb->footer(
      "hocket with [options] -- COMMAND…\n"
      "The setting reaches COMMAND as in a trial of hocket tune: as environment variables and as\n"
      "{NAME} in its arguments; knobs of other tools where these read them. COMMAND takes the "
      "place of this program, so signals and the exit\n"
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
