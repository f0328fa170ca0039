// hocket torch: runs a PyTorch program with hocket.torch in it.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>

#include "cli/base/command_line.h"
#include "cli/process/exec_command.h"
#include "cli/process/own_program.h"
#include "cli/process/torch_environment.h"
#include "cli/verbs/launch/explore_option.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"

namespace hocket {
namespace {

Result<int> run_with_torch(const TorchSettings& settings, VerbContext& context) {
  auto words = required_command(context.command, "torch");
  HOCKET_TRY(words);
  const auto program = own_program();
  HOCKET_TRY(program);
  auto variables = torch_environment(settings, *program, process_environment);
  HOCKET_TRY(variables);
  context.out.flush();
  return failure(exec_command({std::move(*words), std::move(*variables)}));
}

}  // namespace

void add_torch(CLI::App& program, VerbAction& action) {
  auto settings = std::make_shared<TorchSettings>();
  auto* verb = program.add_subcommand("torch", "run a PyTorch program that hocket tunes");
  add_explore_option(*verb, settings->explore, "HOCKET_TORCH_EXPLORE");
  verb->add_flag("--schedule", settings->schedule,
                 "let the communication of a step overlap with the next forward pass");
  auto* store = verb->add_option("--store", settings->store,
                                 "the store's file (default: $HOCKET_STORE, else the user's)");
  verb->add_option("--daemon", settings->daemon,
                   "be tuned by this daemon (default: $HOCKET_DAEMON, else the store)")
      ->excludes(store);
  verb->footer(
      "hocket torch [options] -- COMMAND…\n"
      "Every Python that COMMAND starts imports hocket.torch, which tunes what a program wraps in\n"
      "DistributedDataParallel, fully_shard or FullyShardedDataParallel; the program stays as it\n"
      "is. COMMAND takes the place of this program, so signals and the exit status are its own.\n"
      "Example:\n  hocket torch --explore 3% -- torchrun --nproc-per-node 2 train.py\n");
  verb->callback([settings, &action] {
    action = [settings](VerbContext& c) { return run_with_torch(*settings, c); };
  });
}

}  // namespace hocket
