#pragma once

// The seam between a worker of a study (archive/workers/worker.h) and the store that has the study:
// all that a worker needs of it. StoreTrialSource has the store at hand, HttpTrialSource asks a
// daemon that has it. One thread calls a source; one other thread may call renew() beside it.
//
// Every call may return unavailable or timed_out while the store cannot be reached, and may then be
// made again; whether it had an effect is not known. not_found means that the study was removed,
// invalid_argument that trying again does not help.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "store/rows.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/trial.h"

namespace hocket {

/// A worker that asks for a trial.
struct WorkerClaim {
  NewClaim lease;
  /// No trial is given if the longest so far took longer; nothing: the time is not limited.
  std::optional<std::int64_t> time_left_ns = {};
};

struct ClaimAnswer {
  /// Id, name and state are always there; the command is, if there is a trial.
  StudyRow study = {};
  /// Time that the longest trial took with which no worker was lost; known where the time is
  /// limited.
  std::int64_t longest_trial_ns = 0;
  /// Nothing if none waits, if the study has ended, or if the time left is too short.
  std::optional<Trial> trial = {};
  // With a trial, what the worker needs to run it:
  /// Always there; with its objective as far as earlier trials have shown what it means.
  std::optional<StudyDefinition> definition = {};
  /// Samples of the best trial from the beginning of its run, if this one may end early; otherwise
  /// empty.
  std::vector<double> incumbent = {};
  bool has_report = false;  ///< a job's report was among the measurements of earlier trials
};

class TrialSource {
 public:
  virtual ~TrialSource() = default;

  /// Returns a study by name or id. invalid_argument for one whose trials workers cannot claim
  /// (check_shared); one that has ended is returned.
  virtual Result<StudyRow> find(std::string_view name_or_id) = 0;

  /// Renews the worker's lease, and gives it a trial if one waits for it. A worker that still has
  /// another loses that first, as Store::claim_trial() says.
  virtual Result<ClaimAnswer> claim(std::int64_t study_id, const WorkerClaim& claim) = 0;

  /// Renews the lease of the worker and of the trial that it runs.
  virtual Result<void> renew(std::int64_t study_id, const NewClaim& claim) = 0;

  /// Gives back what the worker has, which counts as lost by nobody. No effect for an unknown one.
  virtual Result<void> leave(std::int64_t study_id, std::string_view worker) = 0;

  /// Ends trial `trial.id`, which `trial.worker` ran, with its outcome. If that has a report, whose
  /// topology and workload become the study's, describes the study first, as the owner goes on with
  /// what the study is of once the trial has ended. Repeating the call with the same has no effect.
  /// not_found, too, if another worker has the trial by now.
  virtual Result<void> finish(std::int64_t study_id, const Trial& trial) = 0;
};

/// Refuses a study that no `hocket tune --workers` offers: one that came to a daemon, or one that a
/// process runs alone.
Result<void> check_shared(const StudyRow& study);

}  // namespace hocket
