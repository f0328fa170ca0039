#pragma once

// The daemon's autonomous work on running jobs: releases new versions to them in stages
// (daemon/live/key_rollout.h), and tunes each key on one of its jobs
// (daemon/live/key_tuner.h).
//
// Versions that were pushed or that won a study reach running jobs in stages. A version from live
// tuning was already tried by a job of its owner: it reaches jobs of that owner at once, and those
// of another owner in stages. A rollback or pin must take effect immediately: it reaches all jobs
// at once.
//
// Events may come from any thread and return immediately; a thread of this object processes them.
// Searches are asked elsewhere (daemon/live/search_runner.h), so that a key does not wait for
// another's search.
// While the store is slow they are joined, and then refused (daemon/live/live_events.h).
// All state that must survive a crash is in the store: studies, trials, stages, quarantine, audit.
//
// Several daemons may share a store on a server. One of them at a time decides for a key: the one
// that has claimed it (Store::claim_key), which keeps the claim while it has jobs of the key. It
// alone tunes the key and rolls out staged versions, to its own jobs. The others bring released
// versions to their jobs, in stages as well, and claim the key when that daemon is gone.
//
// An error of the store is logged, and the work is repeated at the next tick. An exception, or an
// error that would occur again (invalid_argument), sets the key aside: until the daemon starts
// again its running jobs are not changed, as if it were frozen. Other keys are not affected.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "daemon/live/key_rollout.h"
#include "daemon/live/key_tuner.h"
#include "daemon/live/live_dependencies.h"
#include "daemon/live/live_events.h"

namespace hocket {

class LiveTuning {
 public:
  explicit LiveTuning(LiveParts parts);
  ~LiveTuning();
  LiveTuning(const LiveTuning&) = delete;
  LiveTuning& operator=(const LiveTuning&) = delete;

  /// Checks that live tuning can search over the knobs of `job`, if it may explore at all.
  /// invalid_argument names the knob or field.
  static Result<void> check(const JobDescription& job);

  /// The job with that number (RunningJob::number) became reachable. These and the next two return
  /// unavailable when too much waits to be processed (MemoryLimits).
  Result<void> job_arrived(std::uint64_t number);
  /// The job became unreachable, or its registration has ended.
  void job_left(std::uint64_t number);
  /// Call with each report that the registry has accepted, and the number that it returned.
  Result<void> reported(std::uint64_t number, JobReport report);
  /// Call when a version was added, or the key was pinned, frozen or released from that.
  Result<void> key_changed(const ConfigKey& key);
  /// Checks for changes by other processes and for timeouts. Call about once per second.
  void tick();

  /// Processes the pending events on the calling thread; use instead of start().
  void run_pending();

  /// Starts a thread that processes events and ticks every second; it ends with this object.
  void start();

  LiveCounts counts() const;

  /// Returns why each key that was set aside was, indexed by the key's text.
  std::map<std::string, std::string> set_aside() const;

  /// The tuning of a key as its explorer shows it.
  struct ShownTuning {
    std::string state;                       ///< name (daemon/live/tuning_state_machine.h)
    std::optional<EndedSearch> search = {};  ///< if the state is settled
  };
  /// Returns it for each explorer, by the job's id. Other jobs are not in it.
  std::map<std::string, ShownTuning> tuning() const;

  /// The sizes of the tables that it keeps in memory.
  struct Sizes {
    std::size_t keys = 0, pending_events = 0, waiting_outcomes = 0;
    std::size_t claims = 0;  ///< keys for which this daemon decides
  };
  Sizes sizes() const;

  /// Returns whether the store could be reached at the last tick.
  bool reaches_store() const { return reaches_store_.load(std::memory_order_relaxed); }

 private:
  /// State of one key.
  struct Key {
    ConfigKey key;
    std::int64_t topology_id = 0, workload_id = 0;
    bool must_retry = false;    ///< a call of the store failed
    bool is_set_aside = false;  ///< nothing is done for it any more
    std::int64_t used_ns = 0;   ///< when it was last needed
    /// Null while another daemon decides, or nothing is to be decided.
    std::unique_ptr<KeyClaim> claim = nullptr;
    /// Since when the claim is refused. Briefly, while another daemon only looks at the key.
    std::optional<std::int64_t> refused_since_ns = {};
    bool is_others = false;    ///< another daemon keeps the claim, for its jobs
    bool wants_claim = false;  ///< the claim is requested at the next tick
    KeyRollout rollout;
    std::unique_ptr<KeyTuner> tuner;  ///< another one after a claim was lost
    std::string shown_explorer = {};  ///< the job of this key in shown_tuning_; empty if none
  };

  void run(const std::stop_token& stop);
  void process(const LiveEvent& event);
  void on_report(const JobReported& event);
  void on_tick();
  bool is_idle(const Key& key) const;
  bool has_jobs(const Key& key) const;
  std::unique_ptr<KeyTuner> new_tuner(const ConfigKey& key, std::int64_t topology_id,
                                      std::int64_t workload_id);
  /// Claims the key, unless it is claimed. Returns whether this daemon decides for it.
  Result<bool> claim(Key& key);
  /// Notes whether the claim was given or refused.
  void note_claim(Key& key) const;
  /// Lets other daemons claim a key for which nothing is to be decided here.
  void leave_claim(Key& key) const;
  /// Evicts idle keys when there are too many.
  void evict_keys();
  void show_state();
  /// Shows the state of the key's tuning to other threads.
  void show_tuning(Key& key);
  /// Removes a registration that has ended, and cleans up after it.
  void remove(const RunningJob& job);
  /// Cleans up after a registration that was removed.
  void forget(const RunningJob& gone);
  void on_change(std::uint64_t number);
  /// Processes changes made by other processes.
  Result<void> look_for_changes();
  Result<void> look_at_key(const KeyRow& row, const std::vector<PromotionRow>& staged);

  /// Returns null and logs if the store cannot be read or does not know the key; looks again at the
  /// next tick if it could not be read.
  Key* find_key(const ConfigKey& key);
  Result<std::unique_ptr<Key>> load_key(const ConfigKey& key);
  /// Calls `work`, which returns Result<void>, unless the key is set aside; sets it aside if
  /// that fails for good.
  template <class Work>
  void work_on(Key& key, Work work);
  void set_aside(Key& key, const std::string& reason);
  void note_set_aside(const std::string& key, const std::string& reason);
  /// Performs all due work for a key.
  void advance(Key& key);
  Result<void> advance_all(Key& key);
  void complain(const Key& key, const Error& error);

  LiveParts parts_;
  const DaemonStart started_;
  // Used only by the processing thread:
  // Indexed by the key's text.
  std::map<std::string, std::unique_ptr<Key>> keys_;
  std::optional<std::int64_t> change_count_;
  std::size_t outcomes_ = 0;  // waiting outcomes of all keys
  // Keys that could not be read from the store, by their texts.
  std::map<std::string, ConfigKey> unread_;
  LiveCounts counts_;

  // Asks of searches, which may outlive this object, report to it.
  const std::shared_ptr<LiveEvents> events_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  LiveCounts shown_counts_;
  std::size_t shown_keys_ = 0, waiting_outcomes_ = 0, shown_claims_ = 0;
  std::map<std::string, std::string> set_aside_;  // reasons, by the key's text
  std::map<std::string, ShownTuning> shown_tuning_;
  std::atomic<bool> reaches_store_ = true;
  std::unique_ptr<ChangeListener> listener_;
  std::jthread thread_;
};

}  // namespace hocket
