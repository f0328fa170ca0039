#pragma once

// What hocket remembers: topologies, workloads, studies with their trials and every measurement,
// the versions of each key's configuration, profiles, and who did what. A key is a topology and a
// workload. Rows (store/rows.h) are plain values; what the store does not look into is JSON.
// store/open.h opens one; docs/formats/store.md describes the file.
//
// Thread-safe: calls are serialised. Every call that changes something is one transaction: it is
// done, and kept across a crash, when it returns a value; nothing has changed when it returns an
// error. Several processes may use one file at once.
//
// Errors of every call: timed_out when another process holds the store too long, unavailable when
// the file cannot be read or written, invalid_argument and not_found as documented. JSON values
// must be objects at most 64 levels deep, with finite numbers and valid UTF-8. Fields `*_at_ns` are
// Unix time in nanoseconds, taken from the clock that the store was opened with.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "store/rows.h"

namespace hocket {

/// Lists are in the order of creation, the newest last.
class Store {
 public:
  virtual ~Store() = default;

  /// The id of the row with this fingerprint, inserted when it is new.
  virtual Result<std::int64_t> upsert_topology(const Topology& topology) = 0;
  virtual Result<std::int64_t> upsert_workload(const Workload& workload) = 0;

  virtual Result<std::vector<TopologyRow>> topologies() = 0;

  /// Those named `selector` or whose fingerprint starts with it; all when it is empty.
  virtual Result<std::vector<WorkloadRow>> workloads(std::string_view selector) = 0;

  /// invalid_argument when the name is taken; not_found for an unknown topology or workload.
  virtual Result<StudyRow> create_study(const NewStudy& study) = 0;

  virtual Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) = 0;

  virtual Result<std::vector<StudyRow>> studies() = 0;

  /// By name, or by id when all are digits. not_found when there is none.
  virtual Result<StudyRow> study(std::string_view name_or_id) = 0;

  /// The newest study that is not finished, if any.
  virtual Result<std::optional<StudyRow>> latest_unfinished_study() = 0;

  /// Inserts a running trial with the study's next number.
  virtual Result<TrialRow> start_trial(const NewTrial& trial) = 0;

  /// Ends a running trial. Telling the same again is harmless; telling something else of a trial
  /// that has ended is invalid_argument; not_found for one that was removed.
  virtual Result<void> finish_trial(std::int64_t trial_id, const TrialResult& result) = 0;

  /// Removes the running trials of a study whose runner is gone, and returns how many there were.
  /// Removed rather than failed: an interruption says nothing about the parameters, and the resumed
  /// study takes up the same numbers as one that was never interrupted.
  virtual Result<std::int64_t> abandon_running_trials(std::int64_t study_id) = 0;

  /// Prolongs, shortens or gives the lease of a running trial. not_found for one that was removed,
  /// invalid_argument for one that has ended.
  virtual Result<void> renew_lease(std::int64_t trial_id, std::int64_t lease_until_ns) = 0;

  /// Removes the running trials of a study whose lease has ended by `now_ns`, and returns how many
  /// there were. Trials without a lease stay.
  virtual Result<std::int64_t> expire_leases(std::int64_t study_id, std::int64_t now_ns) = 0;

  /// not_found for an unknown study.
  virtual Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) = 0;

  /// Adds a version to its key. When the key is pinned and a study or live tuning found it, the
  /// version is held, whatever stage was asked for.
  virtual Result<PromotionRow> promote(const NewPromotion& promotion) = 0;

  /// Moves a version from staged to released or withdrawn, or from released to withdrawn. The stage
  /// that it has already is harmless; any other move is invalid_argument.
  virtual Result<void> set_stage(std::int64_t promotion_id, PromotionStage stage,
                                 std::string_view actor, std::string_view note) = 0;

  /// The released version with the highest id for the two fingerprints, if any.
  virtual Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) = 0;

  /// The staged version with the highest id for the two fingerprints, if any.
  virtual Result<std::optional<PromotionRow>> staged_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) = 0;

  virtual Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) = 0;

  /// Neither pinned nor frozen for a key that nobody has said anything about.
  virtual Result<KeyState> key_state(std::string_view topology_fingerprint,
                                     std::string_view workload_fingerprint) = 0;

  /// The state that the key has already is harmless. not_found for an unknown topology or workload.
  virtual Result<void> set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                                     const KeyState& state, std::string_view actor) = 0;

  /// Every key that has a version or was given a state, by topology and then by workload.
  virtual Result<std::vector<KeyRow>> keys() = 0;

  /// Keeps a configuration from being tried again. A configuration that is there already gets the
  /// new reason, actor and time.
  virtual Result<void> quarantine(const NewQuarantine& quarantine) = 0;

  virtual Result<std::vector<QuarantineRow>> quarantined(std::int64_t topology_id,
                                                         std::int64_t workload_id) = 0;

  /// Forgets the quarantine of a key, and returns how many configurations were in it.
  virtual Result<std::int64_t> lift_quarantine(std::int64_t topology_id, std::int64_t workload_id,
                                               std::string_view actor) = 0;

  /// Keeps an event. promote, set_stage, set_key_state, quarantine and lift_quarantine keep theirs,
  /// under these names and in the same transaction, when they change something.
  virtual Result<void> record_audit(const NewAudit& audit) = 0;

  virtual Result<std::vector<AuditRow>> audit(const AuditFilter& filter) = 0;

  /// Adds a profile with all its rows. invalid_argument when the name is taken, a rank, iteration
  /// or metric comes twice, or an iteration or metric is of a rank that is not there; not_found for
  /// an unknown topology or workload.
  virtual Result<ProfileRow> add_profile(const NewProfile& profile) = 0;

  virtual Result<std::vector<ProfileRow>> profiles() = 0;

  /// By name, or by id when all are digits. not_found when there is none.
  virtual Result<ProfileRow> profile(std::string_view name_or_id) = 0;

  /// In the order of ranks, then of steps; not_found for an unknown profile.
  virtual Result<std::vector<ProfileIteration>> profile_iterations(std::int64_t profile_id) = 0;

  /// The job's, then each rank's, by name within. not_found for an unknown profile.
  virtual Result<std::vector<ProfileMetric>> profile_metrics(std::int64_t profile_id) = 0;

  virtual Result<void> keep_profile(std::int64_t profile_id, bool kept) = 0;

  /// Removes the profile's rows; its trace files are the caller's. not_found when it is unknown.
  virtual Result<void> remove_profile(std::int64_t profile_id) = 0;

  virtual Result<ProfileRequestRow> request_profile(const NewProfileRequest& request) = 0;

  /// The oldest request for a job of this id or name that nobody has taken, which `job_id` has then
  /// taken. Requests older than `max_age_ns` are left.
  virtual Result<std::optional<ProfileRequestRow>> take_profile_request(
      std::string_view job_id, std::string_view job_name, std::int64_t max_age_ns) = 0;

  virtual Result<std::vector<ProfileRequestRow>> profile_requests() = 0;

  /// A number that differs from that of an earlier call when the store has changed since, by
  /// whatever process; it may differ without a change. Cheap enough to be asked every second.
  virtual Result<std::int64_t> change_count() = 0;
};

}  // namespace hocket
