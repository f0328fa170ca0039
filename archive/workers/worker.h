#pragma once

// A worker of a study: claims trials that the study's owner offers (archive/workers/worker_crew.h),
// runs the study's command for each, and gives what was measured to its source
// (archive/workers/trial_source.h). Any number of workers may run trials of one study, on any host
// that reaches the store, or a daemon of it. While it runs a trial it renews its lease; when it
// dies, or is cut off from the store for longer, another worker gets the trial. The calling thread
// runs the trials.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "archive/workers/trial_source.h"
#include "archive/workers/waiting.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

struct WorkerOptions {
  std::string study;  ///< name or id
  /// Differs from that of every other worker of the study. A worker that comes again under its name
  /// gives back what it had before.
  std::string name;
  std::string host;
  /// Joins a study that has workers of its own: a task of Slurm of such a study does not.
  bool joins = false;
  bool is_slurm_task = false;
  std::int64_t lease_ns = 30'000'000'000;
  /// The time to wait for a trial before leaving; nothing: until the study ends.
  std::optional<std::int64_t> idle_limit_ns = {};
  /// Returns how much time is left here; nothing if that is not limited. A worker leaves when the
  /// longest trial so far would take longer. May be empty.
  std::function<std::optional<std::int64_t>()> time_left_ns = {};
};

/// Is told what a worker does. Called by the thread that runs it.
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void trial_started(const Trial& trial) = 0;
  /// `is_kept` is false when another worker has the trial by now.
  virtual void trial_ended(const Trial& trial, bool is_kept) = 0;
  /// The worker waits for the store, which cannot be reached; called every minute.
  virtual void waits(const std::string& why) { static_cast<void>(why); }
};

struct WorkerEnd {
  std::int64_t trials = 0;  ///< number of trials that the worker ran and stored
  std::string reason;       ///< why the worker left, one line
};

/// Makes the runner for a study whose objective is resolved as far as its trials have shown. Of the
/// study there are the id, the name, the state and the command.
using MakeRunner = std::function<Result<std::unique_ptr<TrialRunner>>(
    const StudyRow& study, const StudyDefinition& definition)>;

/// Returns what makes a CommandRunner, whose command has `environment` beside that of this process,
/// and `label` in place of {WORKER}. The clock and the token must outlive the runners.
/// `time_left_ns` limits each trial further (tuner/trial/command_runner.h). A file of the command
/// that has changed is invalid_argument.
MakeRunner command_runners(const Clock& clock, const CancelToken& cancel,
                           std::map<std::string, std::string> environment = {},
                           std::string label = {}, std::function<std::int64_t()> time_left_ns = {});

/// Runs trials until the study ends, the time is up, no trial has come for the idle limit, or
/// `cancel` is cancelled, which gives back the running trial. Errors: not_found; invalid_argument
/// for a study that is not one of workers, that has ended, or whose trials would share a file with
/// those of this worker; what the runner returns, after giving back the trial; the store's, after
/// kStorePatienceNs without a trial. A measured trial waits for the store as long as it takes, and
/// after a request to stop for two more tries.
Result<WorkerEnd> run_worker(TrialSource& source, const WorkerOptions& options,
                             const MakeRunner& make_runner, WorkerObserver& observer,
                             const Clock& clock, const CancelToken& cancel,
                             const InterruptibleWait& wait);

}  // namespace hocket
