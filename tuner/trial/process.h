#pragma once

// Runs one command to its end, and every process that it started with it. Thread-safe: several
// threads may each run a command.
//
// The command runs under a supervisor, a small process of its own (a fork of this one) to which
// orphans fall (PR_SET_CHILD_SUBREAPER), so that a grandchild in a session of its own, or forked
// twice, is still found. The supervisor ends the whole tree on request, after a normal exit when
// stragglers are left, and when this process is gone, even by SIGKILL. The command itself gets
// SIGKILL should the supervisor die. Waits are for descriptors (pipes, the supervisor's socket, the
// cancel token), for the time limit and, where there is a watch, for its next look.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/trial/cancel.h"

namespace hocket {

/// What a command that runs has written: of each stream the beginning, up to half the limit.
struct OutputSoFar {
  std::string_view stdout_text, stderr_text;
};

struct ProcessOptions {
  std::vector<std::string> argv;                   ///< a name without a slash is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to this process's own
  std::string working_directory;                   ///< empty: this process's own
  std::optional<std::int64_t> time_limit_ns;
  /// From SIGTERM to SIGKILL.
  std::int64_t grace_ns = 2'000'000'000;
  /// Of each of stdout and stderr; beyond it the middle is left out, and a line says so.
  std::size_t output_limit_bytes = 4 << 20;
  /// Called every `watch_interval_ns` while the command runs, by the thread that waits for it; true
  /// ends the whole tree, as the time limit does. Empty: nobody watches.
  std::function<bool(const OutputSoFar&)> watch = {};
  std::int64_t watch_interval_ns = 200'000'000;
};

struct ProcessResult {
  int exit_status = 0;  ///< meaningful when signal is 0
  int signal = 0;       ///< that ended the command, else 0
  bool timed_out = false;
  bool cancelled = false;
  bool ended_early = false;  ///< by the watch
  std::string stdout_text, stderr_text;
  std::int64_t wall_ns = 0;  ///< to the end of the command itself, without that of stragglers
  /// Peak resident memory of the largest process of the tree; of processes smaller than this one it
  /// is this one's size, which they shared before they became another program.
  std::int64_t peak_memory_bytes = 0;

  bool succeeded() const {
    return exit_status == 0 && signal == 0 && !timed_out && !cancelled && !ended_early;
  }
};

/// Runs the command with stdin from /dev/null and waits until no process of its tree is left.
/// invalid_argument when it cannot be started (naming it and the reason); unavailable when the
/// system refuses processes or descriptors, or a process cannot be ended.
Result<ProcessResult> run_process(const ProcessOptions& options, const Clock& clock,
                                  const CancelToken& cancel);

/// "exit status 3" or "signal 9 (SIGKILL)".
std::string describe_end(const ProcessResult& result);

}  // namespace hocket
