#pragma once

// Runs one command to its end, together with every process that it starts. Thread-safe: several
// threads may each run a command.
//
// The command runs under a supervisor, a separate small process (a fork of this one) that adopts
// orphans (PR_SET_CHILD_SUBREAPER), so that a grandchild in its own session, or forked twice, is
// still found. The supervisor ends the whole tree on request, after a normal exit that leaves
// stragglers, and when this process dies, even by SIGKILL. The command itself receives SIGKILL if
// the supervisor dies. Every wait is for descriptors (pipes, the supervisor's socket, the cancel
// token), for the time limit, the next sample of the memory and, if there is a watch, its next
// call. Sampling takes at most 5 % of one core: the time to the next sample grows with its cost.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/protocol/trial_output.h"
#include "tuner/trial/cancel.h"

namespace hocket {

class ProcessTable;

/// Output of a running command: the beginning of each stream, up to half the limit.
struct OutputSoFar {
  std::string_view stdout_text, stderr_text;
};

struct ProcessOptions {
  std::vector<std::string> argv;                   ///< a name without a slash is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to that of this process
  /// Variables that the command does not have, in `environment` or inherited.
  std::vector<std::string> absent = {};
  std::string working_directory;  ///< empty: that of this process
  std::optional<std::int64_t> time_limit_ns;
  /// Time between SIGTERM and SIGKILL.
  std::int64_t grace_ns = 2'000'000'000;
  /// Limit for each of stdout and stderr; beyond it the middle is dropped and a line says so.
  std::size_t output_limit_bytes = 4 << 20;
  /// Called every `watch_interval_ns` while the command runs, by the thread that waits for it;
  /// returning true ends the whole tree, like the time limit. May be empty.
  std::function<bool(const OutputSoFar&)> watch = {};
  std::int64_t watch_interval_ns = 200'000'000;
  /// Memory of the tree, as in ProcessResult; beyond it the tree is ended, like at the time limit.
  std::optional<std::int64_t> memory_limit_bytes = {};
  /// The processes of this host; null: read from /proc. Must outlive the run.
  const ProcessTable* processes = nullptr;
};

struct ProcessResult {
  int exit_status = 0;  ///< meaningful if signal is 0
  int signal = 0;       ///< signal that ended the command, otherwise 0
  bool timed_out = false;
  bool cancelled = false;
  bool ended_early = false;  ///< true if the watch ended the command
  bool over_memory = false;  ///< true if the memory limit ended the command
  /// The command ended by itself while processes that it had started still ran; they were ended.
  bool had_left = false;
  std::string stdout_text, stderr_text;
  TrialOutput output;        ///< the part of both that is kept
  std::int64_t wall_ns = 0;  ///< from start to the end of the command itself, without stragglers
  /// Peak memory of the tree: the highest sum of the proportional set sizes of its processes
  /// (tuner/trial/process/tree_memory.h), sampled 5 times a second and more often at first. Never
  /// less than the peak resident memory of the largest process, by the kernel's account, and so
  /// never less than the size of this process, which its children share until exec.
  std::int64_t peak_memory_bytes = 0;

  bool succeeded() const {
    return exit_status == 0 && signal == 0 && !timed_out && !cancelled && !ended_early &&
           !over_memory;
  }
};

/// Runs the command with stdin from /dev/null and blocks until no process of its tree is left.
/// invalid_argument if it cannot be started (naming it and the reason); unavailable if the system
/// refuses processes or descriptors, or a process cannot be ended.
Result<ProcessResult> run_process(const ProcessOptions& options, const Clock& clock,
                                  const CancelToken& cancel);

/// Returns "exit status 3" or "signal 9 (SIGKILL)".
std::string describe_end(const ProcessResult& result);

}  // namespace hocket
