#pragma once

// The Store in a database (docs/formats/store.md). Thread-safe: one database behind a mutex.
//
// Where transactions write at the same time, they lock rows, always in this order, so that none
// waits for another in a circle: a key's workload, a study, its workers, its trials or versions,
// names that Database::hold() knows (creating studies, creating profiles, the audit). Whoever would
// have to lock against the order skips what is locked (expire_leases, offer_lost_trials). Workers
// of a study need not wait for one another: a claim only keeps the study from being removed, and
// skips the trials that others are about to get.

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "store/open.h"
#include "store/sql/database.h"
#include "store/store.h"

namespace hocket::sql {

class SqlStore final : public Store {
 public:
  /// Requires a database whose schema is the newest. Without `now_unix_ns` its own clock counts.
  SqlStore(std::unique_ptr<Database> db, WallClock now_unix_ns);

  Result<std::int64_t> upsert_topology(const Topology& topology) override;
  Result<std::int64_t> upsert_workload(const Workload& workload) override;
  Result<std::vector<TopologyRow>> topologies(UnreadRows* unread = nullptr) override;
  Result<std::vector<WorkloadRow>> workloads(std::string_view selector,
                                             UnreadRows* unread = nullptr) override;
  Result<StudyRow> create_study(const NewStudy& study) override;
  Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) override;
  Result<void> remove_study(std::int64_t study_id, std::string_view expected_owner,
                            std::string_view actor) override;
  Result<std::vector<StudyRow>> studies(UnreadRows* unread = nullptr) override;
  Result<std::vector<StudyRow>> studies_of_key(std::int64_t topology_id, std::int64_t workload_id,
                                               UnreadRows* unread = nullptr) override;
  Result<StudyRow> study(std::string_view name_or_id) override;
  Result<std::optional<StudyRow>> latest_unfinished_study() override;
  Result<TrialRow> start_trial(const NewTrial& trial) override;
  using Store::finish_trial;
  Result<void> finish_trial(std::int64_t trial_id, const TrialOutcome& outcome,
                            std::string_view worker) override;
  Result<std::optional<TrialOutput>> trial_output(std::int64_t trial_id) override;
  Result<std::int64_t> abandon_running_trials(std::int64_t study_id) override;
  Result<std::int64_t> renew_lease(std::int64_t trial_id, std::int64_t lease_ns) override;
  Result<std::int64_t> expire_leases(std::int64_t study_id) override;
  Result<std::vector<WorkerRow>> workers(std::int64_t study_id) override;
  Result<std::optional<TrialRow>> claim_trial(std::int64_t study_id,
                                              const NewClaim& claim) override;
  Result<void> renew_worker(std::int64_t study_id, const NewClaim& claim) override;
  Result<void> leave_worker(std::int64_t study_id, std::string_view worker, bool is_lost) override;
  Result<std::int64_t> offer_lost_trials(std::int64_t study_id) override;
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail,
                                       UnreadRows* unread = nullptr) override;
  Result<PromotionRow> promote(const NewPromotion& promotion) override;
  Result<std::vector<ImportOutcome>> import_configs(const std::vector<NewImport>& imports,
                                                    std::string_view actor,
                                                    bool is_dry_run) override;
  Result<void> set_stage(std::int64_t promotion_id, PromotionStage stage, std::string_view actor,
                         std::string_view note) override;
  Result<void> add_keeper(std::int64_t promotion_id, std::string_view owner, std::string_view actor,
                          std::string_view note) override;
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::optional<PromotionRow>> staged_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter,
                                               UnreadRows* unread = nullptr) override;
  Result<KeyState> key_state(std::string_view topology_fingerprint,
                             std::string_view workload_fingerprint) override;
  Result<void> set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                             const KeyState& state, std::string_view actor) override;
  Result<std::vector<KeyRow>> keys() override;
  Result<void> quarantine(const NewQuarantine& quarantine) override;
  Result<std::vector<QuarantineRow>> quarantined(std::int64_t topology_id,
                                                 std::int64_t workload_id) override;
  Result<std::int64_t> lift_quarantine(std::int64_t topology_id, std::int64_t workload_id,
                                       std::string_view actor) override;
  Result<void> record_audit(const NewAudit& audit) override;
  Result<std::vector<AuditRow>> audit(const AuditFilter& filter,
                                      UnreadRows* unread = nullptr) override;
  Result<std::int64_t> prune_audit(std::int64_t before_ns, std::string_view actor) override;
  Result<ProfileRow> add_profile(const NewProfile& profile) override;
  Result<std::vector<ProfileRow>> profiles(UnreadRows* unread = nullptr) override;
  Result<ProfileRow> profile(std::string_view name_or_id) override;
  Result<std::vector<ProfileIteration>> profile_iterations(std::int64_t profile_id) override;
  Result<std::vector<ProfileMetric>> profile_metrics(std::int64_t profile_id,
                                                     UnreadRows* unread = nullptr) override;
  Result<void> keep_profile(std::int64_t profile_id, bool kept) override;
  Result<void> remove_profile(std::int64_t profile_id) override;
  Result<ProfileRequestRow> request_profile(const NewProfileRequest& request) override;
  Result<std::optional<ProfileRequestRow>> take_profile_request(std::string_view job_id,
                                                                std::string_view job_name,
                                                                std::int64_t max_age_ns) override;
  Result<std::vector<ProfileRequestRow>> profile_requests() override;
  Result<std::int64_t> change_count() override;
  Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) override;
  Result<std::unique_ptr<KeyClaim>> claim_key(std::int64_t topology_id,
                                              std::int64_t workload_id) override;

 private:
  using Access = Database::Access;

  /// Runs `body` in a transaction and commits if it returns a value. Repeats both where the
  /// database says that this helps, so `body` must not change what it uses.
  template <class Body>
  auto transact(Access access, Body&& body) -> decltype(body());

  // All functions below run within a transaction.
  using Found = Result<std::unique_ptr<Rows>>;
  /// Leaves rows that cannot be read out if there is an `unread` that names them, each a `what`.
  template <class Row>
  Result<std::vector<Row>> rows(Found query, Result<Row> (*read)(const Rows&),
                                const char* what = "", UnreadRows* unread = nullptr);
  /// Returns what is said about such a row.
  static std::string unread_text(const Rows& row, const char* what, const Error& error);
  template <class Row>
  Result<std::optional<Row>> first(Found query, Result<Row> (*read)(const Rows&));
  /// Returns the time for a row that is written now.
  Result<std::int64_t> now_ns();

  Result<std::int64_t> write_topology(const Topology& topology);
  Result<std::int64_t> write_workload(const Workload& workload);
  /// Returns the id that `select` finds for `key`; without one, the id of a row that `insert` adds.
  Result<std::int64_t> write_once(std::string_view select, std::string_view insert,
                                  const std::string& key, const std::string& name,
                                  const nlohmann::json& document);
  Result<std::optional<StudyRow>> study_by_name(std::string_view name);
  /// Returns not_found if there is none.
  Result<StudyRow> study_by_id(std::int64_t id);
  enum class StudyLock {
    change,     ///< nobody else changes the study or its trials
    removal,    ///< as change, and nobody adds a row that refers to it
    reference,  ///< nobody removes the study
  };
  /// The same, and locks it until the transaction ends.
  Result<StudyRow> locked_study(std::int64_t id, StudyLock lock = StudyLock::change);
  Result<std::optional<TrialRow>> locked_trial(std::int64_t id);
  Result<std::string> new_name(const NewStudy& study, std::int64_t id);
  Result<void> check_name_is_free(const NewProfile& profile);
  Result<std::string> new_name(const NewProfile& profile, std::int64_t id);
  /// Returns "" without a workload.
  Result<std::string> name_of_workload(std::optional<std::int64_t> workload_id);
  Result<void> check_references(std::optional<std::int64_t> topology_id,
                                std::optional<std::int64_t> workload_id);
  Result<void> touch_study(std::int64_t study_id);
  /// Returns not_found for an unknown topology or workload.
  Result<ConfigKey> key_of(std::int64_t topology_id, std::int64_t workload_id);
  /// The same, and keeps others from changing the key until the transaction ends.
  Result<ConfigKey> locked_key(std::int64_t topology_id, std::int64_t workload_id);
  /// Returns PromotionRow::declared of a new version with the text `config`.
  Result<nlohmann::json> declared_for(const NewPromotion& promotion, std::string_view config);
  /// Adds a version to its key, whose lock the transaction holds, with what it declares.
  Result<PromotionRow> write_version(const NewPromotion& promotion, const ConfigKey& key,
                                     nlohmann::json declared, nlohmann::json provenance);
  Result<ImportOutcome> write_import(const NewImport& import, std::string_view actor,
                                     bool is_dry_run);
  Result<KeyState> state_of(std::int64_t topology_id, std::int64_t workload_id);
  /// Returns not_found if there is none.
  Result<PromotionRow> version(std::int64_t id);
  Result<std::optional<PromotionRow>> current_of(std::int64_t topology_id,
                                                 std::int64_t workload_id);
  Result<std::optional<PromotionRow>> newest_promotion(std::string_view topology_fingerprint,
                                                       std::string_view workload_fingerprint,
                                                       PromotionStage stage);
  Result<void> write_audit(const NewAudit& audit);
  /// Adds the ranks to `profiles`, which are sorted by id.
  Result<void> read_ranks(std::vector<ProfileRow>& profiles, UnreadRows* unread = nullptr);
  Result<void> check_profile_id(std::int64_t profile_id);
  Result<void> write_parts(std::int64_t profile_id, const NewProfile& profile);
  Result<std::optional<ProfileRequestRow>> open_request(std::string_view job_id,
                                                        std::string_view job_name,
                                                        std::int64_t max_age_ns, Access access);
  Result<void> read_measurements(std::int64_t study_id, std::vector<TrialRow>& trials);
  Result<void> write_outcome(std::int64_t trial_id, const TrialOutcome& outcome);
  Result<void> write_output(std::int64_t trial_id, const TrialOutput& output);
  /// Adds a worker or renews its lease; returns when the lease ends.
  Result<std::int64_t> write_worker(std::int64_t study_id, const NewClaim& claim,
                                    std::int64_t at_ns);
  /// Offers the running trials of a worker again, and returns their number.
  Result<std::int64_t> give_back(std::int64_t study_id, std::string_view worker, bool is_lost);

  const WallClock now_unix_ns_;  // empty: the database's

  std::mutex mutex_;
  const std::unique_ptr<Database> owned_;  // guarded by mutex_, but for listen() and claim()
  Database& db_ = *owned_;
};

/// Ends a transaction that is not committed, also when an exception passes.
class RollBack {
 public:
  explicit RollBack(Database& db) : db_(db) {}
  ~RollBack() { db_.rollback(); }
  RollBack(const RollBack&) = delete;
  RollBack& operator=(const RollBack&) = delete;

 private:
  Database& db_;
};

template <class Body>
auto SqlStore::transact(Access access, Body&& body) -> decltype(body()) {
  constexpr int kAttempts = 3;
  const std::lock_guard lock(mutex_);
  for (int attempt = 1;; ++attempt) {
    HOCKET_TRY(db_.begin(access));
    const RollBack unless_committed(db_);
    auto result = body();
    if (result) {
      const auto ended = db_.commit();
      if (ended) return result;
      result = failure(ended.error());
    }
    if (attempt == kAttempts || !db_.is_repeatable()) return result;
  }
}

template <class Row>
Result<std::vector<Row>> SqlStore::rows(Found query, Result<Row> (*read)(const Rows&),
                                        const char* what, UnreadRows* unread) {
  HOCKET_TRY(query);
  std::vector<Row> found;
  for (;;) {
    const auto more = (*query)->next();
    HOCKET_TRY(more);
    if (!*more) return found;
    auto row = read(**query);
    if (!row && unread != nullptr) {
      unread->push_back(unread_text(**query, what, row.error()));
      continue;
    }
    if (!row) {
      return failure(ErrorCode::unavailable,
                     "store " + db_.name() + " is damaged: " + row.error().message);
    }
    found.push_back(std::move(*row));
  }
}

template <class Row>
Result<std::optional<Row>> SqlStore::first(Found query, Result<Row> (*read)(const Rows&)) {
  auto found = rows(std::move(query), read);
  HOCKET_TRY(found);
  if (found->empty()) return std::nullopt;
  return std::move(found->front());
}

}  // namespace hocket::sql
