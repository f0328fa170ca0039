#pragma once

// Tunes one key while its jobs train. One job, the explorer, receives candidates one at a time. A
// candidate that it keeps is promoted. A drift begins the search again. One thread; searches are
// asked where a SearchRunner does it.
//
// The study and its trials are in the store like those of any other. A trial's value is relative to
// the current configuration, which its window measured too: (median of the candidate) / (median of
// the current one) · (value of the current one). So a slow change of the machine cancels out. The
// times of the current one are kept beside the trial (kReferenceMetric), as their error counts.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "daemon/live/drift.h"
#include "daemon/live/live_dependencies.h"
#include "daemon/live/live_search.h"

namespace hocket {

/// Iterations under the current configuration before a job is given a candidate.
inline constexpr std::size_t kBaselineIterations = 8;
/// Consecutive candidates that a job may reject before it is no longer used as explorer.
inline constexpr int kMostRejections = 5;
/// Time after which an explorer that has not answered is replaced if another job can explore.
inline constexpr std::int64_t kAnswerLimitNs = 3'600'000'000'000;

/// After an error of the store its calls may be repeated; no step is done twice.
class KeyTuner {
 public:
  /// `wake` is called when a search has answered, on the thread of the searches; advance() goes on
  /// from there.
  KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
           std::int64_t workload_id, std::function<void()> wake);

  /// Takes a report of a job of this key, for conclude() and advance() to act on.
  void report(const RunningJob& job, const JobReport& report);

  /// Keeps the outcome of the last candidate in the store, and promotes what the job kept.
  Result<void> conclude();

  /// Performs all due work: chooses an explorer, begins or resumes its study, offers a candidate.
  /// With `may_explore` false nothing is offered.
  Result<void> advance(bool may_explore);

  /// Gives up a study that an operator has removed while it ran; the next call of advance() begins
  /// another one. Does nothing if the study is in the store.
  Result<void> leave_removed_study();

  const std::string& explorer() const { return explorer_; }
  /// Whether a search has not answered yet.
  bool is_asking() const { return asked_ != nullptr; }

 private:
  /// A session that is being asked. Until has_answered only the one who asks may use it.
  struct Asked {
    Asked(StudySession of, ScheduleConfig with) : session(std::move(of)), base(std::move(with)) {}

    StudySession session;
    const ScheduleConfig base;  ///< the job's configuration, which is not offered
    SessionNext next = {};
    std::optional<std::string> error = {};  ///< text of an exception
    std::atomic<bool> has_answered = false;
  };
  struct Answer {
    SessionNext next;
    ScheduleConfig base;
  };
  struct Offered {
    std::int64_t trial_id = 0;
    Params params;
    ScheduleConfig config;
    std::int64_t since_ns = 0;
  };

  bool can_explore(const RunningJob& job) const;
  Result<void> choose_explorer();
  Result<void> leave_explorer();
  void look_at_base(const RunningJob& job);
  void add_iteration(double wall_ns);
  Result<void> begin_again();
  Result<void> begin_study(const RunningJob& job);
  /// Returns false if there is no study to resume.
  Result<bool> resume_study(const RunningJob& job);
  Result<void> resume_trials(const RunningJob& job, const StudyRow& study,
                             const StudyDefinition& definition, const Params& base);
  Result<void> end_study(StudyState state, const std::string& reason);
  Result<void> tell_baseline(const RunningJob& job);
  Result<void> ask(const RunningJob& job);
  Result<void> take_answer();
  Result<void> offer(const RunningJob& job);
  void publish_offered();
  Result<void> promote_offered();
  Result<void> conclude_measured(bool is_kept);
  Result<void> conclude_unmeasured(bool is_kept);
  void end_offered(bool is_kept, double base_ns);

  LiveParts& parts_;
  LiveCounts& counts_;
  const ConfigKey key_;
  const std::int64_t topology_id_, workload_id_;
  const std::function<void()> wake_;

  std::string explorer_;                 // a job's id; empty: nobody
  std::set<std::string> left_alone_;     // jobs that refused too often, or did not answer
  std::optional<StudyRow> study_;        // while one runs
  std::optional<StudySession> session_;  // of study_, unless it is being asked
  std::shared_ptr<Asked> asked_;
  bool is_over_ = false;                  // the study for what the explorer can change has ended
  std::optional<Answer> answer_;          // not in the store yet
  std::optional<Offered> offered_;        // a running trial of study_
  std::optional<ChangeOutcome> outcome_;  // of offered_
  /// Reported by a job before it was chosen: the outcome of a candidate that an earlier daemon had
  /// offered.
  std::optional<std::pair<std::string, ChangeOutcome>> early_outcome_;
  int rejections_ = 0;  // consecutive

  std::optional<ScheduleConfig> base_;  // the explorer's configuration
  // The latest times under base_, until base_ns_ is known.
  std::vector<double> baseline_ns_;
  double base_ns_ = 0;  // value of base_ in the study; 0 if not known
  DriftDetector drift_;
  std::optional<nlohmann::json> drifted_;  // detail for the audit
  bool must_begin_ = false;                // a new study, once nothing is offered
};

}  // namespace hocket
