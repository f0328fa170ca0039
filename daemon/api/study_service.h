#pragma once

// Studies whose trials are run by workers on several hosts: who asks gets a setting and a lease,
// and tells what it measured. A worker that dies loses its lease, and its setting is given to the
// next one that asks. A search is a StudySession (tuner/study/study_session.h) that goes through
// the study's trials in the store, so a restart loses nothing. Thread-safe; calls for one study are
// serialised, as a search may think for a second, and so that the times in the store say what the
// search knew when it was asked.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "daemon/live/memory_limits.h"
#include "store/open.h"
#include "store/store.h"
#include "tuner/study/study_session.h"

namespace hocket {

inline constexpr std::int64_t kShortestLeaseNs = 1'000'000'000;
inline constexpr std::int64_t kLongestLeaseNs = 86'400'000'000'000;

class StudyService {
 public:
  /// Leases are by the store's clock.
  explicit StudyService(Store& store, MemoryLimits limits = {});

  struct Asked {
    std::optional<TrialRow> trial;
    /// Why this setting, or why there is none: all trials are taken, or the study has ended.
    std::string reason;
    bool is_finished = false;
  };

  /// Returns the next trial, for `worker` until the lease ends. invalid_argument for a study with
  /// several objectives, or one that another process runs.
  Result<Asked> ask(const std::string& study, const std::string& worker, std::int64_t lease_ns);

  /// Ends a trial; again with the same is harmless. not_found when its lease was lost and the trial
  /// given to another worker.
  Result<void> tell(const std::string& study, std::int64_t trial_id, const TrialOutcome& outcome);

  /// Returns the lease's new end by the store's clock.
  Result<std::int64_t> renew(const std::string& study, std::int64_t trial_id,
                             std::int64_t lease_ns);

  /// invalid_argument for a lease that is too short or too long.
  static Result<void> check_lease(std::int64_t lease_ns);

  /// not_found when `study` has no such trial, or no longer.
  Result<void> check_trial(const StudyRow& study, std::int64_t trial_id) const;

  /// Returns what the search recommends now; nothing before the first value.
  Result<std::optional<Recommendation>> recommend(const std::string& study);

  /// Returns how many searches are in memory.
  std::size_t sessions() const;

  /// The owner of the studies that workers run.
  static constexpr const char* kOwner = kWorkersOwner;

 private:
  struct Running {
    std::uint64_t used = 0;  ///< a number of uses_; guarded by the service's mutex_
    std::mutex mutex;
    // Guarded by mutex:
    std::optional<StudySession> session;  ///< nothing until it is needed
    // The trials of `session`, by their ids:
    std::set<std::int64_t> told;
    std::map<std::int64_t, Params> outstanding;
  };

  Result<StudyRow> find(const std::string& study) const;
  std::shared_ptr<Running> running(std::int64_t study_id);
  /// Brings the session of `state`, whose mutex is held, up to the trials in the store.
  Result<void> catch_up(const StudyRow& study, Running& state);
  /// Makes the session anew from all trials of the study.
  static Result<void> load(const StudyRow& study, const std::vector<TrialRow>& trials,
                           Running& state);
  /// Tells the session which trials have ended since, and which were lost.
  static Result<void> take_changes(const std::vector<TrialRow>& trials, Running& state);

  Store& store_;
  const MemoryLimits limits_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::int64_t, std::shared_ptr<Running>> running_;  // by study
  std::uint64_t uses_ = 0;
};

}  // namespace hocket
