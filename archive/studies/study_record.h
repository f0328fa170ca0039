#pragma once

// Keeps a running study in the store as it happens. One thread.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

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

/// Tells a record to wait while another process holds the store's lock. Each try waits for it as
/// long as the store was opened to wait.
struct WhileLocked {
  std::function<void(const std::string& why)> say = {};  ///< called once for each wait
  std::function<bool()> goes_on = {};  ///< asked before each further try; empty: there is none
};

class StudyRecord final : public StudyObserver {
 public:
  /// `store` must outlive this, and this process own `study`. `topology` is the study's;
  /// `has_report` says that a report has named it; `has_workers` that workers keep its trials, and
  /// name what it is of.
  StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report,
              bool has_workers = false);

  /// Waits for the lock of the store from now on, so that no measured trial is lost to one.
  void wait_for_lock(WhileLocked while_locked) { while_locked_ = std::move(while_locked); }

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
  /// Returns what `call` returns, as bad input, and calls it again while the store is locked.
  template <class Call>
  auto kept(const Call& call) -> decltype(call());

  Store& store_;
  StudyRow study_;
  Topology topology_;
  bool has_report_;  ///< a report named topology and workload
  const bool has_workers_;
  WhileLocked while_locked_;
  std::optional<std::int64_t> running_trial_;
  std::int64_t finished_trials_ = 0;
};

}  // namespace hocket
