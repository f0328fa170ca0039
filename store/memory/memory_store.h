#pragma once

// A Store in memory, for tests and for sweeps whose results are not kept. Thread-safe.

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "store/open.h"
#include "store/store.h"

namespace hocket::memory {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(WallClock now_unix_ns);

  Result<std::int64_t> upsert_topology(const Topology& topology) override;
  Result<std::int64_t> upsert_workload(const Workload& workload) override;
  Result<std::vector<TopologyRow>> topologies() override;
  Result<std::vector<WorkloadRow>> workloads(std::string_view selector) override;
  Result<StudyRow> create_study(const NewStudy& study) override;
  Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) override;
  Result<std::vector<StudyRow>> studies() override;
  Result<StudyRow> study(std::string_view name_or_id) override;
  Result<std::optional<StudyRow>> latest_unfinished_study() override;
  Result<TrialRow> start_trial(const NewTrial& trial) override;
  Result<void> finish_trial(std::int64_t trial_id, const TrialResult& result) override;
  Result<std::int64_t> abandon_running_trials(std::int64_t study_id) override;
  Result<void> renew_lease(std::int64_t trial_id, std::int64_t lease_until_ns) override;
  Result<std::int64_t> expire_leases(std::int64_t study_id, std::int64_t now_ns) override;
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) override;
  Result<PromotionRow> promote(const NewPromotion& promotion) override;
  Result<void> set_stage(std::int64_t promotion_id, PromotionStage stage, std::string_view actor,
                         std::string_view note) override;
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::optional<PromotionRow>> staged_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) override;
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
  Result<std::vector<AuditRow>> audit(const AuditFilter& filter) override;
  Result<ProfileRow> add_profile(const NewProfile& profile) override;
  Result<std::vector<ProfileRow>> profiles() override;
  Result<ProfileRow> profile(std::string_view name_or_id) override;
  Result<std::vector<ProfileIteration>> profile_iterations(std::int64_t profile_id) override;
  Result<std::vector<ProfileMetric>> profile_metrics(std::int64_t profile_id) override;
  Result<void> keep_profile(std::int64_t profile_id, bool kept) override;
  Result<void> remove_profile(std::int64_t profile_id) override;
  Result<ProfileRequestRow> request_profile(const NewProfileRequest& request) override;
  Result<std::optional<ProfileRequestRow>> take_profile_request(std::string_view job_id,
                                                                std::string_view job_name,
                                                                std::int64_t max_age_ns) override;
  Result<std::vector<ProfileRequestRow>> profile_requests() override;
  Result<std::int64_t> change_count() override;

 private:
  /// Locks for a call that may change the store.
  std::unique_lock<std::mutex> lock_for_change();
  Result<void> check_references(std::optional<std::int64_t> topology_id,
                                std::optional<std::int64_t> workload_id) const;
  /// Returns not_found for an unknown topology or workload.
  Result<ConfigKey> key_of(std::int64_t topology_id, std::int64_t workload_id) const;
  std::optional<PromotionRow> newest_promotion(const ConfigKey& key, PromotionStage stage) const;
  void write_audit(NewAudit audit);

  struct ProfileParts {
    std::vector<ProfileIteration> iterations;  // sorted by rank and step
    std::vector<ProfileMetric> metrics;        // sorted by rank and name
  };

  const WallClock now_unix_ns_;

  std::mutex mutex_;
  // Guarded by mutex_ and ordered by id:
  std::vector<TopologyRow> topologies_;
  std::vector<WorkloadRow> workloads_;
  std::vector<StudyRow> studies_;
  std::vector<TrialRow> trials_;
  std::vector<PromotionRow> promotions_;
  std::map<std::pair<std::int64_t, std::int64_t>, KeyState> key_states_;  // by the key's ids
  std::vector<QuarantineRow> quarantine_;
  std::vector<AuditRow> audit_;
  std::vector<ProfileRow> profiles_;
  std::map<std::int64_t, ProfileParts> profile_parts_;  // by the profile's id
  std::vector<ProfileRequestRow> profile_requests_;
  std::int64_t last_trial_id_ = 0, last_profile_id_ = 0;
  std::int64_t changes_ = 0;
};

}  // namespace hocket::memory
