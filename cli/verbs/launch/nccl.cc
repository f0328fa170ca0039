// hocket nccl: runs a command in which NCCL loads hocket's plugin, or says how to have it loaded.

#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>

#include "cli/base/command_line.h"
#include "cli/checks/library_probe.h"
#include "cli/process/exec_command.h"
#include "cli/process/nccl_environment.h"
#include "cli/process/own_program.h"
#include "cli/verbs/launch/explore_option.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"
#include "core/files/regular_file.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostFileBytes = 1 << 20;

struct NcclVerbSettings {
  NcclSettings environment = {};
  bool prints = false;
  std::string file = {};  ///< to write to; empty: none
};

/// Returns what a file of NCCL's has to set. The loader finds some installations by itself; for
/// others, NCCL takes the files' paths.
std::map<std::string, std::string> file_variables(const NcclSettings& settings,
                                                  const std::filesystem::path& folder) {
  auto variables = variables_of(settings);
  for (const auto& [name, library] : {std::pair{"NCCL_TUNER_PLUGIN", kNcclTunerLibrary},
                                      {"NCCL_PROFILER_PLUGIN", kNcclProfilerLibrary}}) {
    void* const found = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    variables[name] = found != nullptr ? "hocket" : (folder / library).string();
    if (found != nullptr) ::dlclose(found);
  }
  return variables;
}

Result<int> write_file(const NcclVerbSettings& settings, const std::filesystem::path& program,
                       VerbContext& context) {
  const auto folder = nccl_plugin_folder(program);
  HOCKET_TRY(folder);
  std::string before;
  std::error_code error;
  if (std::filesystem::exists(settings.file, error)) {
    auto text = read_regular_file(settings.file, kMostFileBytes);
    HOCKET_TRY(text);
    before = std::move(*text);
  }
  const auto variables = file_variables(settings.environment, *folder);
  const auto after = with_variables(before, variables);
  if (!after) return failure(after.error().in(settings.file));
  if (*after != before) {
    const auto written = replace_file(settings.file, *after);
    HOCKET_TRY(written);
  }
  context.out << settings.file << (*after == before ? " has" : " has now") << ":\n";
  for (const auto& [name, value] : variables) context.out << "  " << name << "=" << value << '\n';
  return kDone;
}

/// Says in the job's log that NCCL, which goes on without a plugin and says nothing, cannot open
/// this one.
void say_if_unusable(const std::filesystem::path& program, VerbContext& context) {
  const auto folder = nccl_plugin_folder(program);
  if (!folder) return;
  for (const char* library : {kNcclTunerLibrary, kNcclProfilerLibrary}) {
    const std::string why = why_not_opened((*folder / library).string());
    if (why.empty()) continue;
    context.err << "hocket: NCCL will run without hocket's plugin: " << why
                << "; `hocket doctor` says more\n";
    return;
  }
}

Result<int> run_with_plugin(const NcclVerbSettings& settings, VerbContext& context) {
  const auto program = own_program();
  HOCKET_TRY(program);
  if (settings.prints || !settings.file.empty()) {
    const auto none = no_command(context.command, "nccl --env and nccl --install");
    HOCKET_TRY(none);
  }
  if (!settings.file.empty()) return write_file(settings, *program, context);
  auto variables = nccl_environment(settings.environment, *program, process_environment);
  HOCKET_TRY(variables);
  if (settings.prints) {
    for (const auto& [name, value] : *variables)
      context.out << "export " << name << "=" << shell_quoted(value) << '\n';
    return kDone;
  }
  auto words = required_command(context.command, "nccl");
  HOCKET_TRY(words);
  say_if_unusable(*program, context);
  context.out.flush();
  return failure(exec_command({std::move(*words), std::move(*variables)}));
}

}  // namespace

void add_nccl(CLI::App& program, VerbAction& action) {
  auto settings = std::make_shared<NcclVerbSettings>();
  auto* verb = program.add_subcommand("nccl", "run a command whose NCCL hocket tunes");
  add_explore_option(*verb, settings->environment.explore, "HOCKET_NCCL_EXPLORE");
  verb->add_option("--daemon", settings->environment.daemon,
                   "be tuned by this daemon (default: $HOCKET_DAEMON)");
  auto* prints = verb->add_flag("--env", settings->prints,
                                "print the variables for a shell: eval \"$(hocket nccl --env)\"");
  verb->add_option("--install", settings->file,
                   "write the plugin's lines to this file of NCCL's, for all jobs (default: "
                   "/etc/nccl.conf)")
      ->expected(0, 1)
      ->default_str("/etc/nccl.conf")
      ->excludes(prints);
  verb->footer(
      "hocket nccl [options] -- COMMAND…\n"
      "NCCL loads hocket's plugin in every process that COMMAND starts on this host. Where a\n"
      "launcher starts ranks on other hosts, put eval \"$(hocket nccl --env)\" into what it "
      "starts\n"
      "there, or the plugin into /etc/nccl.conf of each host. Another tuner or profiler that the\n"
      "environment names is called by hocket's. `hocket doctor --job -- COMMAND…` says whether "
      "NCCL\n"
      "loads it. Example:\n"
      "  hocket nccl --daemon http://127.0.0.1:7077 -- torchrun --nproc-per-node 8 train.py\n");
  verb->callback([settings, &action] {
    action = [settings](VerbContext& c) { return run_with_plugin(*settings, c); };
  });
}

}  // namespace hocket
