#pragma once

// The batch system Slurm, as far as a study needs it: job arrays that are submitted, followed and
// cancelled. The seam between the policy (tuner/slurm/fleet.h) and Slurm's programs
// (tuner/slurm/slurm_commands.h). Implementations say which threads may call them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// A job array to submit: `tasks` times the same command, each in an allocation of its own.
struct SlurmSubmission {
  std::vector<std::string> options;  ///< for sbatch, as slurm_options() returns them
  int tasks = 1;                     ///< indices from 0
  std::string job_name;
  std::vector<std::string> command;
  /// Path of each task's log, with sbatch's patterns: %A is the array, %a the index. Slurm does
  /// not make folders, so submit() makes the one that is named.
  std::string output;
  /// Added to the environment of every task. It may hold secrets: it is handed to sbatch as its
  /// environment, never as an argument or in the script.
  std::map<std::string, std::string> environment;
};

enum class SlurmState {
  pending,  ///< waits for nodes, is held, or its nodes start
  running,
  suspended,   ///< the task's processes are stopped
  completing,  ///< is about to end, or to be requeued
  completed,   ///< exit status 0
  failed,      ///< another status, or a signal
  timed_out,
  preempted,  ///< ended for another job, and not requeued
  node_failed,
  out_of_memory,
  cancelled,
  requeued,  ///< is about to be pending again
  gone,      ///< has ended, and Slurm no longer knows how
  other,     ///< a word that is not known here; not an end
};

/// Returns whether a task in this state never runs again.
bool has_ended(SlurmState state);

/// Exit status and signal of a task's batch script.
struct SlurmExit {
  int status = 0;  ///< meaningful if signal is 0
  int signal = 0;

  bool operator==(const SlurmExit&) const = default;
};

/// One task of an array.
struct SlurmTask {
  int index = 0;
  SlurmState state = SlurmState::other;
  std::string state_text = {};         ///< Slurm's word, "NODE_FAIL"
  std::string reason = {};             ///< why it waits or has ended, "Priority"; may be empty
  std::string nodes = {};              ///< "n[1-2]"; may be empty
  std::optional<SlurmExit> exit = {};  ///< absent before the end, or if Slurm does not tell
  int restarts = 0;                    ///< number of times that it was requeued
  bool is_being_preempted = false;     ///< Slurm has begun to preempt it
  std::string job_id = {};             ///< id of the task; may be the array's until the task runs

  bool operator==(const SlurmTask&) const = default;
};

class Slurm {
 public:
  virtual ~Slurm() = default;

  /// Submits an array and returns its job id. invalid_argument, with sbatch's message, if Slurm
  /// refuses it. timed_out or unavailable if Slurm does not answer; an array may then have been
  /// submitted all the same, whose id nobody knows.
  virtual Result<std::string> submit(const SlurmSubmission& submission) = 0;

  /// Returns the tasks of an array, in any order, those that have ended too. A task that Slurm has
  /// forgotten is `gone` or absent. not_found if nothing is known of the array.
  virtual Result<std::vector<SlurmTask>> tasks(const std::string& job_id) = 0;

  /// Cancels all tasks of an array; no error if they have ended.
  virtual Result<void> cancel(const std::string& job_id) = 0;
};

}  // namespace hocket
