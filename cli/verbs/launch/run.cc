// hocket run: starts the ranks of a job on this host.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/base/command_line.h"
#include "cli/output/value_text.h"
#include "cli/process/harmless_signal.h"
#include "cli/process/launcher.h"
#include "cli/verbs/verb.h"

namespace hocket {
namespace {

struct RunOptions {
  int ranks = 0, servers = 0;
  bool json = false;
};

constexpr int kMostRanks = 1024, kMostServers = 64;

/// Returns the command of parameter server `server`.
std::vector<std::string> server_command(const RunOptions& options, int server) {
  // The program itself, wherever it is installed.
  return {"/proc/self/exe", "param-server",
          "--listen",       "127.0.0.1:0",
          "--ranks",        std::to_string(options.ranks),
          "--server",       std::to_string(server),
          "--servers",      std::to_string(options.servers)};
}

Result<int> run(const RunOptions& options, VerbContext& context) {
  auto command = required_command(context.command, "run");
  HOCKET_TRY(command);
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    return failure(ErrorCode::invalid_argument, "--ranks: expected a number from 1 to " +
                                                    std::to_string(kMostRanks) + ", found " +
                                                    std::to_string(options.ranks));
  }
  if (options.servers < 0 || options.servers > kMostServers) {
    return failure(ErrorCode::invalid_argument, "--servers: expected a number from 0 to " +
                                                    std::to_string(kMostServers) + ", found " +
                                                    std::to_string(options.servers));
  }
  LaunchOptions launch{.ranks = options.ranks, .command = std::move(*command)};
  for (int server = 0; server < options.servers; ++server)
    launch.servers.push_back(server_command(options, server));
  const HarmlessSignal unread_pipe(SIGPIPE);
  const auto result = launch_ranks(launch);
  HOCKET_TRY(result);
  if (options.json) {
    nlohmann::json document = {{"ranks", options.ranks},
                               {"exit_status", result->exit_status},
                               {"failed_rank", nullptr},
                               {"interrupted", result->interrupted}};
    if (result->failed_rank) document["failed_rank"] = *result->failed_rank;
    if (options.servers > 0) {
      document["servers"] = options.servers;
      document["failed_server"] = nullptr;
      if (result->failed_server) document["failed_server"] = *result->failed_server;
    }
    context.out << json_text(document) << '\n';
  }
  if (result->interrupted) return failure(ErrorCode::interrupted, "interrupted; all ranks ended");
  if (result->failed_server) {
    context.err << "hocket: parameter server " << *result->failed_server
                << " ended with exit status " << result->exit_status << "; the ranks were ended"
                << std::endl;
  }
  if (result->failed_rank) {
    context.err << "hocket: rank " << *result->failed_rank << " ended with exit status "
                << result->exit_status << "; the others were ended" << std::endl;
  }
  return result->exit_status;
}

}  // namespace

void add_run(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<RunOptions>();
  auto* verb = program.add_subcommand("run", "start the ranks of a job on this host");
  verb->add_option("--ranks", options->ranks, "how many")->required();
  verb->add_option("--servers", options->servers,
                   "how many parameter servers to start beside them, for\n"
                   "communication=parameter_server");
  verb->add_flag("--json", options->json, "say on stdout, as JSON, how they ended");
  verb->footer(
      "hocket run --ranks N [--servers M] [options] -- COMMAND…\n"
      "Each rank is told RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, HOCKET_RENDEZVOUS and\n"
      "HOCKET_RENDEZVOUS_SECRET, a new secret for each run, and HOCKET_SERVERS, the addresses of "
      "the\n"
      "parameter servers.\n"
      "When one fails the others are ended, and its exit status is the answer. Jobs on several\n"
      "hosts are started by mpirun, torchrun or srun, which hocket understands as well.\n"
      "Example:\n"
      "  hocket run --ranks 2 -- ./train --steps 20\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return run(*options, c); }; });
}

}  // namespace hocket
