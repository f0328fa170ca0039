// hocket demo: tunes a job of hocket's own, to show what tuning is.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/inputs/access/shown_commands.h"
#include "cli/process/demo_job.h"
#include "cli/process/own_program.h"
#include "cli/verbs/verb.h"
#include "client/link/environment.h"
#include "core/base/text.h"
#include "core/protocol/state_folder.h"

namespace hocket {
namespace {

struct DemoOptions {
  int trials = 12;
  std::optional<int> confirm;  ///< `hocket tune` has a default
  std::string store;
  bool prints_job = false;
};

constexpr int kMostTrials = 1000;

/// Returns the path of an empty store of the demo's own, so that each run begins as the first did.
Result<std::string> empty_store() {
  const std::string folder = state_folder(process_environment("XDG_STATE_HOME").value_or(""),
                                          process_environment("HOME").value_or(""));
  if (folder.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "neither XDG_STATE_HOME nor HOME says where the demo's store may be; name it "
                   "with --store FILE");
  }
  const std::string store = folder + "/demo.db";
  for (const char* ending : {"", "-wal", "-shm", "-journal", ".profiles"}) {
    std::error_code error;
    std::filesystem::remove_all(store + ending, error);
    if (error) {
      return failure(ErrorCode::unavailable, "the store of the last demo, " + store + ending +
                                                 ", cannot be removed: " + error.message());
    }
  }
  return store;
}

/// Shows a verb's command as one would type it, and performs it.
int show(const std::vector<std::string>& arguments, VerbContext& context) {
  context.out << "\n$ hocket";
  for (const std::string& argument : arguments)
    context.out << ' ' << (argument == "--" ? argument : shown_argument(argument));
  context.out << '\n' << std::flush;
  return context.perform(arguments);
}

Result<int> run_demo(const DemoOptions& options, VerbContext& context) {
  if (options.trials < 1 || options.trials > kMostTrials) {
    return failure(ErrorCode::invalid_argument, "--trials: expected a number from 1 to " +
                                                    std::to_string(kMostTrials) + ", found " +
                                                    std::to_string(options.trials));
  }
  const auto program = own_program();
  HOCKET_TRY(program);
  const auto job = demo_job(*program);
  HOCKET_TRY(job);
  if (options.prints_job) {
    context.out << shell_text(*job) << '\n';
    return kDone;
  }
  const auto store = options.store.empty() ? empty_store() : Result<std::string>(options.store);
  HOCKET_TRY(store);

  std::vector<std::string> tune = {"tune", "--trials", std::to_string(options.trials), "--store",
                                   *store};
  if (options.confirm) tune.insert(tune.end(), {"--confirm", std::to_string(*options.confirm)});
  tune.insert(tune.end(), {"--", program->string(), "run", "--ranks", "2", "--"});
  tune.insert(tune.end(), job->begin(), job->end());
  tune.insert(tune.end(), kDemoArguments.begin(), kDemoArguments.end());
  const int status = show(tune, context);
  if (status == kDefaultStays) {
    context.out << "\nNothing beat the default by more than the noise, so the default stays.\n";
    return kDone;
  }
  if (status != kDone) return status;
  return show({"fetch", "--store", *store, "--workload", kDemoWorkload}, context);
}

}  // namespace

void add_demo(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<DemoOptions>();
  auto* verb = program.add_subcommand("demo", "tune a small job of hocket's own, to see how it is");
  verb->add_option("--trials", options->trials, "how many configurations to try")
      ->capture_default_str();
  verb->add_option("--confirm", options->confirm,
                   "at most this many pairs of runs confirm the winner")
      ->type_name("PAIRS");
  verb->add_option("--store", options->store,
                   "keep what is learned in this store (default: demo.db in the\n"
                   "state folder, which is emptied first)");
  verb->add_flag("--job", options->prints_job,
                 "only print what starts the job, for commands of your own");
  verb->footer(
      "Two ranks on this host train a GPT-2-style model over an emulated link of 500 Mbit/s. It\n"
      "takes two to four minutes on two cores, and shows the commands that it runs. Examples:\n"
      "  hocket demo\n"
      "  hocket run --ranks 2 -- $(hocket demo --job) --link 500mbit --steps 48\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return run_demo(*options, c); }; });
}

}  // namespace hocket
