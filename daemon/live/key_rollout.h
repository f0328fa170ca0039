#pragma once

// Brings the versions of one key to its running jobs: sees versions that were added to the store,
// performs what daemon/live/rollout.h decides, and records what the jobs answer. One thread.

#include <cstddef>
#include <cstdint>
#include <deque>
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
      : job(of.description.id), number(of.number), outcome(std::move(its)), has_ended(ended) {}

  std::string job;
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
  /// Returns whether a job tries it.
  bool is_trying() const { return !rollout_.canary().empty(); }

  /// Returns whether the key is pinned or frozen, as last read.
  const KeyState& state() const { return state_; }

 private:
  Result<void> take_outcome(const JobOutcome& taken);
  /// Returns the staged version, or 0 if there is none. Withdraws those that it replaced.
  Result<std::int64_t> newest_staged(std::int64_t released);
  Result<void> begin_staged(std::int64_t version);
  Result<void> refresh(std::int64_t released);
  Result<void> carry_out(const RolloutAction& action);
  Result<void> withdraw(const RolloutAction& action, const std::vector<PromotionRow>& rows);
  Result<void> hold(const RolloutAction& action, const PromotionRow& row);

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
};

}  // namespace hocket
