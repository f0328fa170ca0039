#pragma once

// Tunes one key while its jobs train. One job, the explorer, receives candidates one at a time. A
// candidate that it keeps is promoted. A drift begins the search again. One thread.
//
// The study and its trials are stored like those of a sweep. A trial's value is its window's
// measurement relative to the base, the configuration the job had at that time: (median of the
// candidate) / (median of the base) · (value of the base). Slow changes of the machine cancel out.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "tuner/daemon/live/drift.h"
#include "tuner/daemon/live/live_dependencies.h"
#include "tuner/daemon/live/live_search.h"

namespace hocket {

/// Iterations measured under the base before the first candidate is offered.
inline constexpr std::size_t kBaselineIterations = 8;
/// Consecutive candidates that a job may reject before it is no longer used as explorer.
inline constexpr int kMostRejections = 5;
/// Time after which an explorer that has not answered is replaced if another job can explore.
inline constexpr std::int64_t kAnswerLimitNs = 3'600'000'000'000;

/// A call may be repeated after an error of the store: completed work is not done again.
class KeyTuner {
 public:
  KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
           std::int64_t workload_id);

  /// Records the report of a job of this key; conclude() and advance() act on it.
  void report(const RunningJob& job, const JobReport& report);

  /// Stores the outcome of the last candidate, and promotes a configuration that the job kept.
  Result<void> conclude();

  /// Performs all due work: chooses an explorer, begins or resumes its study, offers a candidate.
  /// With `may_explore` false nothing is offered.
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
  Result<void> resume_trials(const RunningJob& job, const StudyRow& study, LiveSearch search,
                             const Params& base);
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

  // A job's id; empty if there is no explorer.
  std::string explorer_;
  // Jobs that rejected too often or did not answer.
  std::set<std::string> left_alone_;
  std::optional<StudyRow> study_;     // set while a study runs
  std::optional<LiveSearch> search_;  // search of study_
  // The study over the knobs that the explorer can change has ended.
  bool is_over_ = false;
  std::optional<Suggestion> next_;        // asked, not in the store yet
  std::optional<Offered> offered_;        // a running trial of study_
  std::optional<ChangeOutcome> outcome_;  // outcome of offered_
  /// Outcome that a job reported before it was chosen, for a candidate that an earlier daemon
  /// process had offered.
  std::optional<std::pair<std::string, ChangeOutcome>> early_outcome_;
  int rejections_ = 0;  // consecutive

  std::optional<ScheduleConfig> base_;  // the explorer's configuration
  // The latest times under base_, until base_ns_ is known.
  std::vector<double> baseline_ns_;
  double base_ns_ = 0;  // value of base_ in the study; 0 if not known
  DriftDetector drift_;
  std::optional<nlohmann::json> drifted_;  // detail for the audit
  bool must_begin_ = false;                // a new study, once no candidate is pending
};

}  // namespace hocket
