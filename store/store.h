#pragma once

// The interface of hocket's persistent store: topologies, workloads, studies with their trials and
// every measurement, the versions of each key's configuration, profiles, and the audit. A key is a
// topology and a workload. Rows (store/rows.h) are plain values; data that the store does not
// interpret is JSON. store/open.h opens a store; docs/formats/store.md describes the database.
//
// Thread-safe: calls are serialised. Every call that changes something is one transaction: if it
// returns a value, the change is complete and survives a crash; if it returns an error, nothing has
// changed. One error is an exception and says so: the connection to a server was lost during the
// commit, and could not be made again to ask the server how that ended. Several processes may use
// one store at once.
//
// Every call may return timed_out, if another process holds the store too long, and unavailable, if
// the store cannot be reached, read or written; the next call tries again. invalid_argument and
// not_found are documented below. JSON values must be objects at most 64 levels deep, with finite
// numbers and valid UTF-8. Other text is UTF-8 without NUL unless its field says otherwise. Fields
// `*_at_ns` are Unix time in nanoseconds by the store's clock: the server's of a store on a server,
// otherwise the system's (OpenOptions::now_unix_ns).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "store/change_listener.h"
#include "store/key_claim.h"
#include "store/rows.h"
#include "store/unread_rows.h"

namespace hocket {

/// Lists are in the order of creation, the newest last. A row that cannot be read makes a list
/// unavailable, or with `unread` it is left out, and has a line there (store/unread_rows.h).
class Store {
 public:
  virtual ~Store() = default;

  /// Returns the id of the row with this fingerprint; inserts the row if it is new.
  virtual Result<std::int64_t> upsert_topology(const Topology& topology) = 0;
  virtual Result<std::int64_t> upsert_workload(const Workload& workload) = 0;

  virtual Result<std::vector<TopologyRow>> topologies(UnreadRows* unread = nullptr) = 0;

  /// Returns the workloads named `selector` or whose fingerprint starts with it; all if it is
  /// empty.
  virtual Result<std::vector<WorkloadRow>> workloads(std::string_view selector,
                                                     UnreadRows* unread = nullptr) = 0;

  /// Returns invalid_argument if the name is taken, not_found for an unknown topology or workload.
  virtual Result<StudyRow> create_study(const NewStudy& study) = 0;

  virtual Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) = 0;

  /// Removes a study with its trials. Versions that it promoted stay as they are, and name it in
  /// `removed_study`. Its id is never used again, its name may be. Returns not_found if it is
  /// unknown, unavailable unless its owner is `expected_owner`: a study that somebody has taken
  /// over meanwhile stays.
  virtual Result<void> remove_study(std::int64_t study_id, std::string_view expected_owner,
                                    std::string_view actor) = 0;

  virtual Result<std::vector<StudyRow>> studies(UnreadRows* unread = nullptr) = 0;
  /// Returns those whose topology and workload these are.
  virtual Result<std::vector<StudyRow>> studies_of_key(std::int64_t topology_id,
                                                       std::int64_t workload_id,
                                                       UnreadRows* unread = nullptr) = 0;

  /// Returns a study by name, or by id if `name_or_id` has only digits; not_found if there is none.
  virtual Result<StudyRow> study(std::string_view name_or_id) = 0;

  /// Returns the newest unfinished study of `hocket tune` (StudyOrigin::tune), if any.
  virtual Result<std::optional<StudyRow>> latest_unfinished_study() = 0;

  /// Inserts a running trial with the study's next number: one that the caller's worker runs, or
  /// one that is offered to the study's workers (NewTrial::is_offered).
  virtual Result<TrialRow> start_trial(const NewTrial& trial) = 0;

  /// Ends a running trial with an outcome that is complete, failed or timeout. A complete one has a
  /// value; value, spread and measurements are finite; of each stream of the output there are at
  /// most kTrialOutputLimitBytes, and a line that says what was left out. The report is not kept.
  /// Repeating the call with the same outcome has no effect; another one for an ended trial is
  /// invalid_argument; its output is not compared. Returns not_found for a removed trial, and if
  /// `worker` is not empty and has the trial no more: its lease was lost, and the trial was given
  /// to another or waits for one. Without a worker the call ends an offered trial, too. Removes the
  /// output of the oldest trials beyond kMostTrialOutputs.
  virtual Result<void> finish_trial(std::int64_t trial_id, const TrialOutcome& outcome,
                                    std::string_view worker) = 0;
  Result<void> finish_trial(std::int64_t trial_id, const TrialOutcome& outcome) {
    return finish_trial(trial_id, outcome, "");
  }

  /// Removes the running trials of a study whose runner is gone, also those that are offered, and
  /// returns their number. They do not count as failed: an interruption says nothing about the
  /// parameters, and the resumed study continues with the same numbers as an uninterrupted one.
  virtual Result<std::int64_t> abandon_running_trials(std::int64_t study_id) = 0;

  /// Lets a running trial's lease end `lease_ns` from now, and returns that time by the store's
  /// clock. Returns not_found for a removed trial, invalid_argument for an ended or offered one.
  virtual Result<std::int64_t> renew_lease(std::int64_t trial_id, std::int64_t lease_ns) = 0;

  /// Removes the running trials of a study whose lease has ended by the store's clock, and returns
  /// their number. Trials without a lease stay. Does not wait for trials that another process
  /// removes or finishes at this moment.
  virtual Result<std::int64_t> expire_leases(std::int64_t study_id) = 0;

  // Workers that share the trials of a study. Its owner offers trials and ends those that were lost
  // too often, workers claim and end them. All return not_found for an unknown study, and
  // invalid_argument for a worker's name that is empty, too long or not UTF-8.

  /// Returns the study's workers whose lease has not ended by the store's clock, in the order of
  /// joining, then by name.
  virtual Result<std::vector<WorkerRow>> workers(std::int64_t study_id) = 0;

  /// Adds a worker to the study or renews its lease, and gives it the offered trial with the lowest
  /// number that it may have: one for any worker, for this one, or for one that is not there any
  /// more. The trial's start stays the time at which it was offered. Returns nothing if none waits,
  /// or only ones that another process is about to get. A worker runs one trial at a time: one that
  /// still has another was started anew, so that trial is lost and offered again first.
  virtual Result<std::optional<TrialRow>> claim_trial(std::int64_t study_id,
                                                      const NewClaim& claim) = 0;

  /// Renews the lease of a worker, and of the trial that it runs, if any. Adds the worker if it is
  /// not there; a trial that it has lost stays lost.
  virtual Result<void> renew_worker(std::int64_t study_id, const NewClaim& claim) = 0;

  /// Removes a worker and offers its running trials again, to any worker. They count as lost if
  /// `is_lost`; otherwise the worker gives them back. No effect for an unknown worker.
  virtual Result<void> leave_worker(std::int64_t study_id, std::string_view worker,
                                    bool is_lost) = 0;

  /// Offers the trials whose lease has ended by the store's clock again, to any worker, and removes
  /// the workers whose lease has ended. Returns the number of these trials, which count as lost.
  /// Does not wait for trials that another process renews or ends at this moment.
  virtual Result<std::int64_t> offer_lost_trials(std::int64_t study_id) = 0;

  /// Returns not_found for an unknown study.
  virtual Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail,
                                               UnreadRows* unread = nullptr) = 0;

  /// Returns the output of a trial; nothing if it had none or it is not kept any more.
  virtual Result<std::optional<TrialOutput>> trial_output(std::int64_t trial_id) = 0;

  /// Adds a version to its key. If the key is pinned and the origin is a study or live tuning, the
  /// version is held, whatever stage is requested.
  virtual Result<PromotionRow> promote(const NewPromotion& promotion) = 0;

  /// Adds a version of the origin `imported` to the key of each configuration for which
  /// rules::import_decision() (store/rules/import_rules.h) says so, and leaves the others alone,
  /// all in one transaction; what has happened to each is in the order of `imports`. With
  /// `is_dry_run` nothing changes. invalid_argument for a configuration with a field that is not
  /// declared.
  virtual Result<std::vector<ImportOutcome>> import_configs(const std::vector<NewImport>& imports,
                                                            std::string_view actor,
                                                            bool is_dry_run) = 0;

  /// Moves a version from staged to released, withdrawn or held, or from released to withdrawn. A
  /// move to its current stage has no effect; any other move is invalid_argument.
  virtual Result<void> set_stage(std::int64_t promotion_id, PromotionStage stage,
                                 std::string_view actor, std::string_view note) = 0;

  /// Adds an owner whose jobs have kept a staged version. No effect if it is there already or the
  /// version is not staged any more; invalid_argument for an empty owner.
  virtual Result<void> add_keeper(std::int64_t promotion_id, std::string_view owner,
                                  std::string_view actor, std::string_view note) = 0;

  /// Returns the released version with the highest id for the two fingerprints, if any.
  virtual Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) = 0;

  /// Returns the staged version with the highest id for the two fingerprints, if any.
  virtual Result<std::optional<PromotionRow>> staged_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) = 0;

  virtual Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter,
                                                       UnreadRows* unread = nullptr) = 0;

  /// Returns the state of a key; neither pinned nor frozen unless it was set.
  virtual Result<KeyState> key_state(std::string_view topology_fingerprint,
                                     std::string_view workload_fingerprint) = 0;

  /// Sets the state of a key; an unchanged state has no effect. Returns not_found for an unknown
  /// topology or workload.
  virtual Result<void> set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                                     const KeyState& state, std::string_view actor) = 0;

  /// Returns every key that has a version or a state, by topology and then by workload.
  virtual Result<std::vector<KeyRow>> keys() = 0;

  /// Keeps a configuration from being tried again. A configuration in quarantine gets the new
  /// reason, actor and time.
  virtual Result<void> quarantine(const NewQuarantine& quarantine) = 0;

  virtual Result<std::vector<QuarantineRow>> quarantined(std::int64_t topology_id,
                                                         std::int64_t workload_id) = 0;

  /// Removes all configurations of a key from quarantine, and returns their number.
  virtual Result<std::int64_t> lift_quarantine(std::int64_t topology_id, std::int64_t workload_id,
                                               std::string_view actor) = 0;

  /// Adds an audit entry. remove_study, promote, set_stage, add_keeper, set_key_state, quarantine,
  /// lift_quarantine and prune_audit add their own, under these names and in the same transaction,
  /// if they change something.
  virtual Result<void> record_audit(const NewAudit& audit) = 0;

  virtual Result<std::vector<AuditRow>> audit(const AuditFilter& filter,
                                              UnreadRows* unread = nullptr) = 0;

  /// Removes audit entries from before `before_ns`, the oldest first and at most
  /// kMostPrunedAuditEntries, and returns their number. Their ids are never used again. Several
  /// processes may call it at once; each entry counts for one of them.
  virtual Result<std::int64_t> prune_audit(std::int64_t before_ns, std::string_view actor) = 0;

  /// Adds a profile with all its rows. Returns invalid_argument if the name is taken, a rank,
  /// iteration or metric occurs twice, or an iteration or metric belongs to a missing rank;
  /// not_found for an unknown topology or workload.
  virtual Result<ProfileRow> add_profile(const NewProfile& profile) = 0;

  virtual Result<std::vector<ProfileRow>> profiles(UnreadRows* unread = nullptr) = 0;

  /// Returns a profile by name, or by id if `name_or_id` has only digits; not_found if there is
  /// none.
  virtual Result<ProfileRow> profile(std::string_view name_or_id) = 0;

  /// Returns the iterations by rank, then by step; not_found for an unknown profile.
  virtual Result<std::vector<ProfileIteration>> profile_iterations(std::int64_t profile_id) = 0;

  /// Returns the job's metrics, then each rank's, each by name; not_found for an unknown profile.
  virtual Result<std::vector<ProfileMetric>> profile_metrics(std::int64_t profile_id,
                                                             UnreadRows* unread = nullptr) = 0;

  virtual Result<void> keep_profile(std::int64_t profile_id, bool kept) = 0;

  /// Removes the profile's rows; the caller removes its trace files. Returns not_found if it is
  /// unknown.
  virtual Result<void> remove_profile(std::int64_t profile_id) = 0;

  virtual Result<ProfileRequestRow> request_profile(const NewProfileRequest& request) = 0;

  /// Returns the oldest request for a job of this id or name that no job has taken, and marks it as
  /// taken by `job_id`. Ignores requests older than `max_age_ns`.
  virtual Result<std::optional<ProfileRequestRow>> take_profile_request(
      std::string_view job_id, std::string_view job_name, std::int64_t max_age_ns) = 0;

  virtual Result<std::vector<ProfileRequestRow>> profile_requests() = 0;

  /// Returns a number that differs from an earlier call's if any process has changed the store
  /// since; it may also differ without a change. Cheap enough to call every second.
  virtual Result<std::int64_t> change_count() = 0;

  /// Calls `on_change` for every promotion, change of a stage and change of a key's state that any
  /// process, also this one, makes from now on; and with nothing when the connection to a server
  /// was lost and is there again. A store in a file never calls: its users ask change_count(). The
  /// listener may outlive the store.
  virtual Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) = 0;

  /// Claims a key, so that one process at a time tunes it. Returns null if it is claimed already:
  /// on a server by any process, also this one; in a file by this object, since the file's users
  /// are on one host and know one another. A server frees a claim when its process is gone. Returns
  /// not_found for an unknown topology or workload. The claim may outlive the store.
  virtual Result<std::unique_ptr<KeyClaim>> claim_key(std::int64_t topology_id,
                                                      std::int64_t workload_id) = 0;
};

}  // namespace hocket
