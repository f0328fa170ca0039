#pragma once

// Brings the versions of one key to its running jobs: sees versions that were added to the store,
// performs what tuner/daemon/live/rollout.h decides, and records what the jobs answer. One thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "store/store.h"
#include "tuner/daemon/live/live_dependencies.h"
#include "tuner/daemon/live/rollout.h"

namespace hocket {

/// When the daemon started, by its steady clock and by the wall clock.
struct DaemonStart {
  std::int64_t ns = 0, unix_ns = 0;
};

/// After an error of the store its calls may be repeated; no step is done twice.
class KeyRollout {
 public:
  /// `version` is the key's current version, 0 if it has none.
  KeyRollout(LiveParts& parts, LiveCounts& counts, DaemonStart started, ConfigKey key,
             std::int64_t topology_id, std::int64_t workload_id, std::int64_t version);

  /// Takes a job's answer to a version, for take_outcomes() to process.
  void add_outcome(const std::string& job, const ChangeOutcome& outcome);
  void drop_outcomes() { outcomes_.clear(); }
  std::size_t waiting_outcomes() const { return outcomes_.size(); }

  /// Records the answers of jobs in the store.
  Result<void> take_outcomes();

  /// Reads the key's state, and starts the rollout of versions that were added since the last call.
  Result<void> look_for_versions();

  /// Performs all due actions of the rollout.
  Result<void> advance();

  /// Returns the staged version that running jobs try, 0 if there is none.
  std::int64_t staged() const { return rollout_.staged(); }

  /// Returns whether the key is pinned or frozen, as last read.
  const KeyState& state() const { return state_; }

 private:
  Result<void> take_outcome(const std::string& job, const ChangeOutcome& outcome);
  /// Returns the staged version, or 0 if there is none. Withdraws those that it replaced.
  Result<std::int64_t> newest_staged(std::int64_t released);
  Result<void> refresh(std::int64_t released);
  Result<void> carry_out(const RolloutAction& action);
  Result<void> withdraw(const RolloutAction& action, const std::vector<PromotionRow>& rows);

  LiveParts& parts_;
  LiveCounts& counts_;
  const DaemonStart started_;
  const ConfigKey key_;
  const std::int64_t topology_id_, workload_id_;

  KeyState state_;
  std::int64_t known_version_;  // newest version that was staged or released here
  // True if the version was staged before the daemon started; the jobs that could try it may be
  // reconnecting.
  bool is_from_before_ = false;
  // Each with the job's id, not processed yet. Without the times, which nothing needs.
  std::deque<std::pair<std::string, ChangeOutcome>> outcomes_;
  Rollout rollout_;
};

}  // namespace hocket
