#pragma once

// Keeps a running study in the store as it happens. One thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/protocol/topology.h"
#include "store/store.h"
#include "tuner/study/study.h"

namespace hocket {

/// Returns the configuration that `params` stand for: the JSON of a ScheduleConfig with the other
/// parameters beside the knobs when at least one parameter is a knob, else the parameters.
Result<nlohmann::json> promoted_config(const Params& params);

/// Makes a study one of the topology and the workload that a report has named, and updates `study`,
/// too. Errors are the store's: unavailable, too, if `study` has another owner by now.
Result<void> describe_study(Store& store, StudyRow& study, const RunReport& report);

class StudyRecord final : public StudyObserver {
 public:
  /// `store` must outlive this, and this process own `study`. `topology` is the study's;
  /// `has_report` says that a report has named it; `has_workers` that workers keep its trials, and
  /// name what it is of.
  StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report,
              bool has_workers = false);

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override;
  Result<void> trial_finished(const Trial& trial) override;
  Result<void> search_stopped(const std::string& reason) override;

  /// Promotes the winner if the result says so, then marks the study finished.
  Result<void> finish(const StudyResult& result);

  /// Marks the study interrupted so that it can be resumed, or finished if there is nothing to
  /// resume. Trials that workers run stay.
  Result<void> stop(bool nothing_to_resume);

  /// Trials that have finished since.
  std::int64_t finished_trials() const { return finished_trials_; }

  /// The topology that the study is of by now: as a report said, once there was one.
  const Topology& topology() const { return topology_; }

 private:
  /// Takes what a worker's report has named.
  Result<void> read_description();
  Result<void> update(StudyUpdate update);

  Store& store_;
  StudyRow study_;
  Topology topology_;
  bool has_report_;  ///< a report named topology and workload
  const bool has_workers_;
  std::optional<std::int64_t> running_trial_;
  std::int64_t finished_trials_ = 0;
};

}  // namespace hocket
