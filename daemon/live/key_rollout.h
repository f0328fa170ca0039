#pragma once

// Brings the versions of one key to its running jobs: sees versions that were added to the store,
// performs what daemon/live/rollout.h decides, and records what the jobs answer. One thread.
//
// A version that live tuning found is staged, and kept by the owner whose job measured it
// (PromotionRow::kept_by): jobs of that owner get it. Running jobs of another owner get it first
// through a canary among them, and when that has kept it, it is kept by their owner, too. Until
// then jobs of that owner that start get the newest version that is for them. What an
// administrator's job keeps is released to all. What an owner's jobs roll back is withdrawn from
// that owner alone, by a version that only its jobs get.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"
#include "daemon/live/live_dependencies.h"
#include "daemon/live/rollout.h"
#include "store/store.h"

namespace hocket {

/// The time at which the daemon started, by its steady clock and by the wall clock.
struct DaemonStart {
  std::int64_t ns = 0, unix_ns = 0;
};

/// A job's answer to a version.
struct JobOutcome {
  JobOutcome(const RunningJob& of, ChangeOutcome its, bool ended)
      : job(of.description.id),
        owner(of.owner.speaks_for()),
        number(of.number),
        outcome(std::move(its)),
        has_ended(ended) {}

  std::string job;
  std::string owner;       ///< for whom the job speaks
  std::uint64_t number;    ///< RunningJob::number
  ChangeOutcome outcome;   ///< kept without its iteration times, which nothing needs
  bool has_ended = false;  ///< the outcome is in the job's last report
};

/// After an error of the store its calls may be repeated; no step is done twice.
class KeyRollout {
 public:
  /// `version` is the key's current version, 0 if it has none.
  KeyRollout(LiveParts& parts, LiveCounts& counts, DaemonStart started, ConfigKey key,
             std::int64_t topology_id, std::int64_t workload_id, std::int64_t version);

  /// Takes an answer for take_outcomes() to process.
  void add_outcome(JobOutcome outcome);
  void drop_outcomes() { outcomes_.clear(); }
  std::size_t waiting_outcomes() const { return outcomes_.size(); }

  /// Records the answers of jobs in the store.
  Result<void> take_outcomes();

  /// Reads the key's state, and starts the rollout of versions that were added since the last call;
  /// of staged ones only if this daemon `decides` for the key.
  Result<void> look_for_versions(bool decides);

  /// Performs all due actions of the rollout.
  Result<void> advance();

  /// Another daemon has decided until now, and is gone. Its jobs may come here: a staged version
  /// waits for them for a while.
  void expect_jobs() { jobs_awaited_from_ns_ = parts_.clock.now_ns(); }

  /// Returns the version that is rolled out in stages, 0 if there is none.
  std::int64_t staged() const { return rollout_.staged(); }
  /// Returns whether a job tries it, or `explorer` tries a version for its owner.
  bool is_trying(const std::string& explorer) const;
  /// Returns whether a canary's answer, or the time that it has, is waited for.
  bool is_waiting() const;
  /// Returns whether a staged version was looked at as it is now.
  bool has_seen(const PromotionRow& staged) const;

  /// Returns whether the key is pinned or frozen, as last read.
  const KeyState& state() const { return state_; }

 private:
  Result<void> take_outcome(const JobOutcome& taken);
  /// Returns the staged version, or 0 if there is none. Withdraws those that it replaced.
  Result<std::int64_t> newest_staged(std::int64_t released,
                                     const std::vector<PromotionRow>& pushed);
  Result<void> begin_staged(std::int64_t version);
  Result<void> refresh(std::int64_t released, std::vector<PromotionRow> owned);
  /// Publishes to running jobs what their owners get, except what is rolled out to them.
  void publish();
  Result<void> advance_all_jobs();
  Result<void> carry_out(const RolloutAction& action);
  Result<void> withdraw(const RolloutAction& action, const std::vector<PromotionRow>& rows);
  Result<void> hold(const RolloutAction& action, const PromotionRow& row);
  Result<void> offer(const RolloutAction& action, const PromotionRow& row);

  // Versions that some owners have kept (daemon/live/key_rollout_owners.cc).
  struct Owned {
    ScheduleConfig config;
    Rollout rollout;            ///< of the newest version for the owner's jobs
    std::int64_t declined = 0;  ///< newest version that its canary did not keep
  };
  /// Begins what is due for each owner; `current` is the released version.
  Result<void> look_for_owned(const std::optional<PromotionRow>& current);
  Result<void> look_for_owned(const std::string& owner, const PromotionRow* current);
  Result<void> begin_owned(Owned& owned, const PromotionRow& row);
  Result<void> advance_owned(const std::string& owner, Owned& owned);
  Result<void> carry_out_owned(const RolloutAction& action, const std::string& owner, Owned& owned);
  /// Gives a version to the jobs of an owner.
  Result<void> keep(const PromotionRow& row, const std::string& owner, const std::string& reason);
  /// Takes a version from the jobs of an owner alone, by a newer one with the configuration of the
  /// version before.
  Result<void> withdraw_from(const std::string& owner, const PromotionRow& row,
                             const std::string& reason, const std::vector<PromotionRow>& rows);

  LiveParts& parts_;
  LiveCounts& counts_;
  const DaemonStart started_;
  const ConfigKey key_;
  const std::int64_t topology_id_, workload_id_;

  KeyState state_;
  std::int64_t known_version_;  // newest version that was staged or released here
  // True if the version was staged before the daemon started, or by another one that is gone; the
  // jobs that could try it may be reconnecting.
  bool is_from_before_ = false;
  std::int64_t jobs_awaited_from_ns_;  // time since which jobs are awaited
  std::deque<JobOutcome> outcomes_;    // outcomes that have not been processed
  ScheduleConfig staged_config_;       // configuration of the version that is rolled out in stages
  Rollout rollout_;
  std::vector<PromotionRow> owned_rows_;  // staged versions that some owners have kept
  std::map<std::string, Owned> owned_;    // by owner
};

}  // namespace hocket
