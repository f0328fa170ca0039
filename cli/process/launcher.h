#pragma once

// Starts the ranks of a job on this host and ends them together. One launch at a time per process.

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;
  /// Commands of the job's parameter servers, one each. A server prints the address at which it
  /// listens as its first line, and ends by itself or on SIGTERM.
  std::vector<std::vector<std::string>> servers = {};
};

/// Result of a launch.
struct LaunchResult {
  /// status of the first failed rank, as in a shell (128 + signal); otherwise 0
  int exit_status = 0;
  std::optional<int> failed_rank, failed_server;
  bool interrupted = false;
};

/// Runs one process per rank and waits for all of them. Each receives RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE, HOCKET_RENDEZVOUS (a new private folder, removed at the end) and a new
/// HOCKET_RENDEZVOUS_SECRET, inherits this process's output, and has empty input. The servers start
/// before the ranks, which receive their addresses as HOCKET_SERVERS, and are ended after them. If
/// one fails, the others are ended with SIGTERM, and with SIGKILL two seconds later. SIGINT,
/// SIGTERM and SIGHUP are forwarded and end the ranks in the same way. Processes left in the
/// process group of an ended job's rank are killed with it. A rank whose launcher is gone receives
/// SIGKILL. Returns invalid_argument if a command cannot be started, unavailable if a server does
/// not say where it listens.
Result<LaunchResult> launch_ranks(const LaunchOptions& options);

}  // namespace hocket
