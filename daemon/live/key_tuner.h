#pragma once

// Tunes one key while its jobs train. One job, the explorer, receives candidates one at a time. A
// candidate that it keeps is promoted. A drift begins the search again. One thread; searches are
// asked where a SearchRunner does it.
//
// daemon/live/tuning_state_machine.h decides what is done and when. This class does it: it keeps
// studies and trials in the store, like those of any other, asks the search, and sends candidates.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "daemon/live/live_dependencies.h"
#include "daemon/live/live_search.h"
#include "daemon/live/tuning_state_machine.h"

namespace hocket {

/// After an error of the store its calls may be repeated; no step is done twice.
class KeyTuner {
 public:
  /// `wake` is called when a search has answered, on the thread of the searches; advance() goes on
  /// from there.
  KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
           std::int64_t workload_id, std::function<void()> wake);

  /// Takes a report of a job of this key, for conclude() and advance() to act on.
  void report(const RunningJob& job, const JobReport& report);

  /// The registration of a job of this key was removed.
  void forget(const RunningJob& gone);

  /// Keeps the outcome of the last candidate in the store, and promotes what the job kept.
  Result<void> conclude();

  /// Performs all due work: chooses an explorer, begins or resumes its study, offers a candidate.
  /// With `may_explore` false nothing is offered.
  Result<void> advance(bool may_explore);

  /// Gives up a study that an operator has removed while it ran; the next call of advance() begins
  /// another one. Does nothing if the study is in the store.
  Result<void> leave_removed_study();

  const tuning::State& state() const { return state_; }
  /// Returns the id of the job that explores; empty if none does.
  std::string explorer() const;
  /// Returns the number of its registration; 0 if none explores.
  std::uint64_t explorer_number() const;

 private:
  /// The search of the study that runs. While the state is `asking`, only the one who asks may use
  /// it until has_answered.
  struct OpenSearch {
    explicit OpenSearch(StudySession of) : session(std::move(of)) {}

    StudySession session;
    SessionNext next = {};
    std::optional<std::string> error = {};  ///< text of an exception
    std::atomic<bool> has_answered = false;
  };

  void apply(const tuning::Event& event) { state_ = tuning::after(std::move(state_), event); }
  bool can_explore(const RunningJob& job) const;
  tuning::Sight look(const std::optional<RunningJob>& job, bool may_explore);
  std::optional<tuning::NextExplorer> find_other();
  Result<void> carry_out(const tuning::Action& action, const std::optional<RunningJob>& job,
                         const tuning::Sight& sight);

  Result<void> begin_study(const RunningJob& job);
  Result<void> resume_study(const RunningJob& job);
  Result<void> resume_trials(const RunningJob& job, const StudyRow& study,
                             const StudyDefinition& definition, const Params& base);
  Result<void> end_study(const tuning::Action& action);
  Result<void> record_drift();
  Result<void> reopen_search(const std::string& reason);
  Result<void> tell_baseline(const RunningJob& job);
  Result<void> ask(const RunningJob& job);
  Result<void> offer(const RunningJob& job);
  void publish_candidate();
  Result<void> conclude_candidate(const std::optional<RunningJob>& job);
  Result<void> promote(const tuning::Conclusion& conclusion);
  Result<void> conclude_measured(const tuning::Conclusion& conclusion);
  Result<void> conclude_unmeasured(const tuning::Conclusion& conclusion);
  void end_candidate(const tuning::Conclusion& conclusion, double value_ns);
  void take_back_candidate(bool is_kept);

  LiveParts& parts_;
  LiveCounts& counts_;
  const ConfigKey key_;
  const std::int64_t topology_id_, workload_id_;
  const std::function<void()> wake_;

  tuning::State state_;
  std::string tried_for_;               // for whom the job that tries the candidate speaks
  std::shared_ptr<OpenSearch> search_;  // null in the states without a study
};

}  // namespace hocket
