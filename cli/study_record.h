#pragma once

// Stores a running study as it progresses. One thread.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/output/progress.h"
#include "store/store.h"
#include "tuner/study/study.h"

namespace hocket {

/// Returns the configuration for `params`. If one parameter is a knob: the JSON of a
/// ScheduleConfig, with the parameters that are not knobs added. Otherwise: the parameters
/// themselves.
Result<nlohmann::json> promoted_config(const Params& params);

class StudyRecord final : public StudyObserver {
 public:
  /// `store` and `progress` must outlive this object. This process must own `study`.
  StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report, Progress& progress);

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override;
  Result<void> trial_finished(const FinishedTrial& trial) override;

  /// Promotes the winner if the result says so, then marks the study finished.
  Result<void> finish(const StudyResult& result);

  /// Marks the study as interrupted, so that it can be resumed; as finished if there is nothing to
  /// resume.
  Result<void> stop(bool nothing_to_resume);

  std::int64_t finished_trials() const { return finished_trials_; }

 private:
  Result<void> describe(const RunReport& report);
  Result<void> update(StudyUpdate update);

  Store& store_;
  StudyRow study_;
  Topology topology_;
  bool has_report_;  ///< topology and workload come from a report
  Progress& progress_;
  std::optional<std::int64_t> running_trial_;
  std::int64_t finished_trials_ = 0;  ///< trials finished by this process
};

}  // namespace hocket
