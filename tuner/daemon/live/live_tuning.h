#pragma once

// The daemon's autonomous work on running jobs: releases new versions to them in stages
// (tuner/daemon/live/rollout.h), and tunes each key on one of its jobs
// (tuner/daemon/live/key_tuner.h).
//
// Versions that were pushed or that won a study reach running jobs in stages. A version from live
// tuning was already tried, and a rollback or pin must take effect immediately: these reach all
// jobs at once.
//
// Events may come from any thread and return immediately; a thread of this object processes them.
// All state that must survive a crash is in the store: studies, trials, stages, quarantine, audit.
// An error of the store is logged, and the work is repeated at the next tick.

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

  /// The job became reachable or unreachable.
  void job_arrived(std::string id);
  void job_left(std::string id);
  /// Call with each report that the registry has accepted.
  void reported(JobReport report);
  /// Call when a version was added, or the key was pinned, frozen or released from that.
  void key_changed(const ConfigKey& key);
  /// Checks for changes by other processes and for timeouts. Call about once per second.
  void tick();

  /// Processes the pending events on the calling thread; use instead of start().
  void run_pending();

  /// Starts a thread that processes events and ticks every second; it ends with this object.
  void start();

  LiveCounts counts() const;

 private:
  /// State of one key.
  struct Key {
    ConfigKey key;
    std::int64_t topology_id = 0, workload_id = 0;
    KeyState state;
    std::int64_t known_version = 0;  ///< newest version that was staged or released here
    /// True if the version was staged before this daemon started; the jobs that could try it may be
    /// reconnecting.
    bool is_from_before = false;
    bool must_retry = false;  ///< a call of the store failed
    /// Outcomes of versions, each with the job's id, that are not processed yet.
    std::deque<std::pair<std::string, ChangeOutcome>> outcomes;
    Rollout rollout;
    KeyTuner tuner;
  };

  void post(std::function<void()> event);
  void run(std::stop_token stop);
  void on_report(const JobReport& report);
  void on_tick();
  /// Cleans up after a job that the registry has removed.
  void forget(const RunningJob& gone);
  void on_arrival(const std::string& id);
  /// Processes changes made by other processes.
  Result<void> look_for_changes();

  /// Returns null and logs if the store cannot be read or does not know the key.
  Key* find_key(const ConfigKey& key);
  Result<std::unique_ptr<Key>> load_key(const ConfigKey& key);
  /// Performs all due work for a key.
  void advance(Key& key);
  Result<void> take_outcomes(Key& key);
  Result<void> take_outcome(Key& key, const std::string& job, const ChangeOutcome& outcome);
  /// Starts the rollout of versions that were added since the last call.
  Result<void> look_for_versions(Key& key);
  /// Returns the staged version, or 0 if there is none. Withdraws those that it replaced.
  Result<std::int64_t> newest_staged(Key& key, std::int64_t released);
  Result<void> refresh(Key& key, std::int64_t released);
  Result<void> advance_rollout(Key& key);
  Result<void> carry_out(Key& key, const RolloutAction& action);
  Result<void> withdraw(Key& key, const RolloutAction& action,
                        const std::vector<PromotionRow>& rows);
  void complain(const Key& key, const Error& error);

  LiveParts parts_;
  const std::int64_t started_ns_, started_unix_ns_;
  // Used only by the processing thread:
  // Indexed by the key's text.
  std::map<std::string, std::unique_ptr<Key>> keys_;
  std::optional<std::int64_t> change_count_;
  LiveCounts counts_;

  mutable std::mutex mutex_;
  std::condition_variable_any happened_;
  std::deque<std::function<void()>> events_;  // guarded by mutex_
  // Keys with a pending event; guarded by mutex_.
  std::set<std::string> changed_;
  LiveCounts shown_counts_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace hocket
