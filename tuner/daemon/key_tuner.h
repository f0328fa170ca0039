#pragma once

// Tunes one key while its jobs train: one job, the explorer, is given candidates one at a time;
// what it keeps is promoted; a drift begins the search again. One thread.
//
// The study and its trials are in the store like those of any other. A trial's value is relative to
// the current configuration, which its window measured too: (median of the candidate) / (median of
// the current one) · (value of the current one). So a slow change of the machine cancels out. The
// times of the current one are kept beside the trial (kReferenceMetric), as their error counts.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config_key.h"
#include "core/result.h"
#include "tuner/daemon/drift.h"
#include "tuner/daemon/live_parts.h"
#include "tuner/daemon/live_search.h"

namespace hocket {

/// Iterations under the current configuration before a job is given a candidate.
inline constexpr std::size_t kBaselineIterations = 8;
/// Candidates that a job may refuse one after the other before it is left alone.
inline constexpr int kMostRejections = 5;
/// A job that has not answered by then makes room for another that could explore.
inline constexpr std::int64_t kAnswerLimitNs = 3'600'000'000'000;

/// After an error of the store its calls may be repeated; no step is done twice.
class KeyTuner {
 public:
  KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
           std::int64_t workload_id);

  /// Takes a report of a job of this key, for conclude() and advance() to act on.
  void report(const RunningJob& job, const JobReport& report);

  /// Keeps the outcome of the last candidate in the store, and promotes what the job kept.
  Result<void> conclude();

  /// Does what is due: chooses an explorer, begins or resumes its study, offers a candidate. With
  /// `may_explore` false nothing is offered.
  Result<void> advance(bool may_explore);

  const std::string& explorer() const { return explorer_; }

 private:
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

  std::string explorer_;                  // a job's id; empty: nobody
  std::set<std::string> left_alone_;      // jobs that refused too often, or did not answer
  std::optional<StudyRow> study_;         // while one runs
  std::optional<StudySession> session_;   // of study_
  bool is_over_ = false;                  // the study for what the explorer can change has ended
  std::optional<Params> next_;            // asked, and not in the store yet
  std::optional<Offered> offered_;        // a running trial of study_
  std::optional<ChangeOutcome> outcome_;  // of offered_
  /// Reported by a job before it was chosen: the outcome of a candidate that an earlier daemon had
  /// offered.
  std::optional<std::pair<std::string, ChangeOutcome>> early_outcome_;
  int rejections_ = 0;  // in a row

  std::optional<ScheduleConfig> base_;  // what the explorer has
  std::vector<double> baseline_ns_;     // its latest times, until base_ns_ is known
  double base_ns_ = 0;                  // its value in the study; 0: not known
  DriftDetector drift_;
  std::optional<nlohmann::json> drifted_;  // detail for the audit
  bool must_begin_ = false;                // a new study, once nothing is offered
};

}  // namespace hocket
