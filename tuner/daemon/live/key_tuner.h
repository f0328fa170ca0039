#pragma once

// Tunes one key while its jobs train: one job, the explorer, is given candidates one at a time;
// what it keeps is promoted; a drift begins the search again. One thread.
//
// The study and its trials are in the store like those of a sweep. A trial's value is what its
// window measured, relative to what the job had then: (median of the candidate) / (median of the
// current one) · (value of the current one). So a slow change of the machine cancels out.

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

/// Iterations of what the job has, before it is given a candidate.
inline constexpr std::size_t kBaselineIterations = 8;
/// Candidates that a job may refuse one after the other before it is left alone.
inline constexpr int kMostRejections = 5;
/// A job that has not answered by then makes room for another that could explore.
inline constexpr std::int64_t kAnswerLimitNs = 3'600'000'000'000;

/// After an error of the store its calls may be repeated: what was done is not done again.
class KeyTuner {
 public:
  KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
           std::int64_t workload_id);

  /// What a job of this key has reported; acted on by conclude() and advance().
  void report(const RunningJob& job, const JobReport& report);

  /// Keeps in the store what became of the last candidate, and promotes what the job kept.
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
  /// False when there is none to go on with.
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

  std::string explorer_;                  // a job's id; empty: nobody
  std::set<std::string> left_alone_;      // jobs that refused too often, or did not answer
  std::optional<StudyRow> study_;         // while one runs
  std::optional<LiveSearch> search_;      // of study_
  bool is_over_ = false;                  // the study for what the explorer can change has ended
  std::optional<Suggestion> next_;        // asked, and not in the store yet
  std::optional<Offered> offered_;        // a running trial of study_
  std::optional<ChangeOutcome> outcome_;  // of offered_
  /// Said by a job before it was chosen: what a daemon that ended had offered it.
  std::optional<std::pair<std::string, ChangeOutcome>> early_outcome_;
  int rejections_ = 0;  // in a row

  std::optional<ScheduleConfig> base_;  // what the explorer has
  std::vector<double> baseline_ns_;     // its latest times, until base_ns_ is known
  double base_ns_ = 0;                  // its value in the study; 0: not known
  DriftDetector drift_;
  std::optional<nlohmann::json> drifted_;  // what the audit is to say
  bool must_begin_ = false;                // a new study, once nothing is offered
};

}  // namespace hocket
