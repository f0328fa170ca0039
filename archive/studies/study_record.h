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

/// Tells a record to wait while another process holds the store's lock, for which each try waits as
/// long as the store was opened to wait, and while the server of the store cannot be reached.
struct WhileAway {
  /// Called before each further try.
  std::function<void(const std::string& why, bool is_first)> say = {};
  std::function<bool()> goes_on = {};  ///< asked before each further try; empty: there is none
  /// Waits before the next try of a store that cannot be reached; empty: the store is no server's,
  /// and its record does not wait for it.
  std::function<void()> pause = {};
};

class StudyRecord final : public StudyObserver {
 public:
  /// `store` must outlive this, and this process own `study`. `topology` is the study's;
  /// `has_report` says that a report has named it; `has_workers` that workers keep its trials, and
  /// name what it is of.
  StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report,
              bool has_workers = false);

  /// Waits for the store from now on, so that no measured trial is lost to a lock or to a restart
  /// of its server.
  void wait_for_store(WhileAway while_away) { while_away_ = std::move(while_away); }

  /// Returns what `call` returns, and calls it again while the store is away. Only for calls that
  /// may be made twice.
  template <class Call>
  auto patiently(const Call& call) const -> decltype(call()) {
    for (bool is_first = true;; is_first = false) {
      auto result = call();
      if (result) return result;
      const Error& error = result.error();
      const bool is_unreachable = error.code == ErrorCode::unavailable && while_away_.pause;
      const bool is_away = error.code == ErrorCode::timed_out || is_unreachable;
      if (!is_away || !while_away_.goes_on || !while_away_.goes_on()) return result;
      if (while_away_.say) while_away_.say(error.message, is_first);
      if (is_unreachable) while_away_.pause();
    }
  }

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
  /// As patiently(), with errors as bad input.
  template <class Call>
  auto kept(const Call& call) const -> decltype(call());
  /// Starts a trial once, however often the store is away meanwhile.
  Result<TrialRow> start_once(const NewTrial& trial, std::int64_t shown_number);
  /// Promotes once.
  Result<void> promote_once(const NewPromotion& promotion);

  Store& store_;
  StudyRow study_;
  Topology topology_;
  bool has_report_;  ///< a report named topology and workload
  const bool has_workers_;
  WhileAway while_away_;
  std::optional<std::int64_t> running_trial_;
  std::int64_t finished_trials_ = 0;
};

}  // namespace hocket
