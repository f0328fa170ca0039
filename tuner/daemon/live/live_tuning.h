#pragma once

// What the daemon does of itself with running jobs: brings new versions to them in stages
// (tuner/daemon/live/rollout.h), and tunes each key on one of its jobs
// (tuner/daemon/live/key_tuner.h).
//
// Versions that were pushed or won a study reach running jobs in stages. What live tuning found was
// tried already, and a rollback or a pin is wanted now: these reach all jobs at once.
//
// Events may come from any thread and return at once; a thread of its own acts on them. All that
// must outlast a crash is in the store: studies, trials, stages, quarantine, audit. What fails in
// the store is logged, and done with the next tick.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "tuner/daemon/live/key_tuner.h"
#include "tuner/daemon/live/live_dependencies.h"
#include "tuner/daemon/live/rollout.h"

namespace hocket {

class LiveTuning {
 public:
  explicit LiveTuning(LiveParts parts);
  ~LiveTuning();
  LiveTuning(const LiveTuning&) = delete;
  LiveTuning& operator=(const LiveTuning&) = delete;

  /// The job can be reached now, or no longer.
  void job_arrived(std::string id);
  void job_left(std::string id);
  /// A report that the registry has taken, too.
  void reported(JobReport report);
  /// A version was added, or the key pinned, frozen or let go.
  void key_changed(const ConfigKey& key);
  /// To be called about once a second: looks for what other processes have changed, and for what
  /// has taken too long.
  void tick();

  /// Acts on what has happened so far, on the calling thread, instead of start().
  void run_pending();

  /// Acts from now on, with a tick every second, in a thread of its own that ends with the object.
  void start();

  LiveCounts counts() const;

 private:
  /// What is known of one key.
  struct Key {
    ConfigKey key;
    std::int64_t topology_id = 0, workload_id = 0;
    KeyState state;
    std::int64_t known_version = 0;  ///< the newest that was staged or released here
    /// Staged before this daemon began: the jobs that could try it may be coming back.
    bool is_from_before = false;
    bool must_retry = false;  ///< a call of the store failed
    /// What jobs said of versions, until it is acted on; with the job's id.
    std::deque<std::pair<std::string, ChangeOutcome>> outcomes;
    Rollout rollout;
    KeyTuner tuner;
  };

  void post(std::function<void()> event);
  void run(std::stop_token stop);
  void on_report(const JobReport& report);
  void on_tick();
  /// The registry has let go of the job.
  void forget(const RunningJob& gone);
  void on_arrival(const std::string& id);
  /// Acts on what other processes have changed.
  Result<void> look_for_changes();

  /// Null, and a line in the log, when the store cannot be read or does not know the key.
  Key* find_key(const ConfigKey& key);
  Result<std::unique_ptr<Key>> load_key(const ConfigKey& key);
  /// Does all that is due.
  void advance(Key& key);
  Result<void> take_outcomes(Key& key);
  Result<void> take_outcome(Key& key, const std::string& job, const ChangeOutcome& outcome);
  /// Takes up versions that were added since the last look.
  Result<void> look_for_versions(Key& key);
  /// The version on its way, else 0; those that it replaced are withdrawn.
  Result<std::int64_t> newest_staged(Key& key, std::int64_t released);
  Result<void> refresh(Key& key, std::int64_t released);
  Result<void> advance_rollout(Key& key);
  Result<void> carry_out(Key& key, const RolloutAction& action);
  Result<void> withdraw(Key& key, const RolloutAction& action,
                        const std::vector<PromotionRow>& rows);
  void complain(const Key& key, const Error& error);

  LiveParts parts_;
  const std::int64_t started_ns_, started_unix_ns_;
  // The acting thread's own:
  std::map<std::string, std::unique_ptr<Key>> keys_;  // by the key's text
  std::optional<std::int64_t> change_count_;
  LiveCounts counts_;

  mutable std::mutex mutex_;
  std::condition_variable_any happened_;
  std::deque<std::function<void()>> events_;  // guarded by mutex_
  std::set<std::string> changed_;             // keys with an event; guarded by mutex_
  LiveCounts shown_counts_;                   // guarded by mutex_
  std::jthread thread_;
};

}  // namespace hocket
