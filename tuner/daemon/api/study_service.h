#pragma once

// Studies whose trials are run by workers on several hosts: who asks gets a setting and a lease,
// and tells what it measured. A worker that dies loses its lease, and its setting is given to the
// next one that asks. Everything is in the store, so a restart loses nothing. Thread-safe; calls
// for one study are serialised, as a search may think for a second.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/base/result.h"
#include "store/open.h"
#include "store/store.h"
#include "tuner/search/search.h"

namespace hocket {

inline constexpr std::int64_t kShortestLeaseNs = 1'000'000'000;
inline constexpr std::int64_t kLongestLeaseNs = 86'400'000'000'000;

class StudyService {
 public:
  explicit StudyService(Store& store, WallClock now_unix_ns = system_unix_ns);

  struct Asked {
    std::optional<TrialRow> trial;
    /// Why this setting, or why there is none: all trials are taken, or the study is over.
    std::string reason;
    bool is_finished = false;
  };

  /// The next trial, for `worker` until the lease ends. invalid_argument for a study that is no
  /// search for one objective, or that another process runs.
  Result<Asked> ask(const std::string& study, const std::string& worker, std::int64_t lease_ns);

  /// Ends a trial; again with the same is harmless. not_found when its lease was lost and the trial
  /// given to another worker.
  Result<void> tell(const std::string& study, std::int64_t trial_id, const TrialResult& result);

  /// The lease's new end, Unix time.
  Result<std::int64_t> renew(const std::string& study, std::int64_t trial_id,
                             std::int64_t lease_ns);

  /// What the search would take now; nothing before the first value.
  Result<std::optional<Recommendation>> recommend(const std::string& study);

  /// The owner of the studies that workers run.
  static constexpr const char* kOwner = "workers";

 private:
  struct Running {
    std::mutex mutex;
    // Guarded by mutex:
    std::int64_t most_trials = 0;
    std::unique_ptr<Search> search;  ///< null until it was loaded
    std::set<std::int64_t> told;     ///< ids of trials
    std::map<std::int64_t, Params> outstanding;
    std::deque<Params> again;  ///< of leases that were lost
  };

  Result<StudyRow> find(const std::string& study) const;
  std::shared_ptr<Running> running(std::int64_t study_id);
  /// Brings `state` up to what the store has.
  Result<std::vector<TrialRow>> catch_up(const StudyRow& study, Running& state);
  Result<void> check_lease(std::int64_t lease_ns) const;
  /// not_found when `study` has no such trial, or no longer.
  Result<void> check_trial(const StudyRow& study, std::int64_t trial_id) const;

  Store& store_;
  const WallClock now_unix_ns_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<Running>> running_;  // by study; guarded by mutex_
};

}  // namespace hocket
