#pragma once

// Keeps a running study in the store, as it happens. One thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/output/progress.h"
#include "store/store.h"
#include "tuner/study/study.h"

namespace hocket {

/// The configuration that `params` stand for: the JSON of a ScheduleConfig, with the other
/// parameters beside the knobs, when one of them is a knob; else the parameters themselves.
Result<nlohmann::json> promoted_config(const Params& params);

class StudyRecord final : public StudyObserver {
 public:
  /// `store` and `progress` must outlive this. `study` belongs to this process.
  StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report, Progress& progress);

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override;
  Result<void> trial_finished(const FinishedTrial& trial) override;

  /// Promotes the winner when it is to be, then marks the study finished.
  Result<void> finish(const StudyResult& result);

  /// Marks the study interrupted, to be resumed; finished when there is nothing to go on from.
  Result<void> stop(bool nothing_to_resume);

  std::int64_t finished_trials() const { return finished_trials_; }

 private:
  Result<void> describe(const RunReport& report);
  Result<void> update(StudyUpdate update);

  Store& store_;
  StudyRow study_;
  Topology topology_;
  bool has_report_;  ///< topology and workload are as a report said
  Progress& progress_;
  std::optional<std::int64_t> running_trial_;
  std::int64_t finished_trials_ = 0;  ///< by this process
};

}  // namespace hocket
