#pragma once

// Starts the ranks of a job on this host and ends them together. One launch at a time in a process.

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;
};

/// How the ranks ended.
struct LaunchResult {
  int exit_status = 0;  ///< of the first rank that failed, as a shell has it (128 + signal); else 0
  std::optional<int> failed_rank;
  bool interrupted = false;
};

/// Runs one process a rank, each told RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE and
/// HOCKET_RENDEZVOUS (a fresh private folder, removed at the end), and waits for all. Output is
/// theirs to write to this process's; their input is empty. When one fails the others are ended,
/// with SIGTERM and two seconds later with SIGKILL; SIGINT, SIGTERM and SIGHUP are passed on and
/// end them alike. What a rank of an ended job leaves in its process group is ended with it, and a
/// rank whose launcher is gone gets SIGKILL. invalid_argument when the command cannot be started.
Result<LaunchResult> launch_ranks(const LaunchOptions& options);

}  // namespace hocket
