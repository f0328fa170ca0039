#pragma once

// Slurm through its programs sbatch, squeue, sacct and scancel, which every version has. One
// thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/slurm/slurm.h"
#include "tuner/trial/process.h"

namespace hocket {

/// Returns the command that submits the array. The user's options come behind hocket's own, which
/// they may override: job name, log, signal, requeueing. Each task runs as the batch script
///
///     #!/bin/sh
///     export SLURM_EXPORT_ENV=ALL
///     exec COMMAND
///
/// which is requeued after a preemption or a failure of its node, and gets SIGTERM 30 seconds
/// before its time limit. Names of the submission's environment, not values, are added to --export
/// if that is no ALL (`default_export` stands for $SBATCH_EXPORT). The second line has the same
/// effect for steps, which otherwise would not get what a trial's environment says.
std::vector<std::string> sbatch_command(const SlurmSubmission& submission,
                                        const std::string& default_export);

class SlurmCommands final : public Slurm {
 public:
  /// Each program that has not ended after this time is stopped. Without a controller, squeue
  /// itself gives up after about 20 seconds.
  struct Limits {
    std::int64_t submit_ns = 60'000'000'000;
    std::int64_t ask_ns = 30'000'000'000;
  };

  SlurmCommands(const Clock& clock, const Limits& limits) : clock_(clock), limits_(limits) {}
  explicit SlurmCommands(const Clock& clock) : SlurmCommands(clock, Limits{}) {}

  Result<std::string> submit(const SlurmSubmission& submission) override;

  /// Asks squeue. The end of a task that the controller has forgotten (MinJobAge, by default 5
  /// minutes after the end) is read from sacct, once; without Slurm's accounting it is `gone`.
  Result<std::vector<SlurmTask>> tasks(const std::string& job_id) override;

  Result<void> cancel(const std::string& job_id) override;

 private:
  Result<ProcessResult> run(std::vector<std::string> command, std::int64_t limit_ns,
                            const std::map<std::string, std::string>& environment = {}) const;
  /// Returns the ends of tasks that squeue does not list any more.
  std::vector<SlurmTask> forgotten(const std::string& job_id, const std::set<int>& missing);

  const Clock& clock_;
  const Limits limits_;
  /// Number of tasks of each array that was submitted.
  std::map<std::string, int> submitted_;
  /// The tasks that the controller has forgotten, as they were last known, by array and index.
  std::map<std::string, std::map<int, SlurmTask>> forgotten_;
};

}  // namespace hocket
