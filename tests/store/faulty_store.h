#pragma once

// A Store whose nth call fails: without an effect, or with one of which the caller does not learn.
// For tests of its callers. Not thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "store/store.h"

namespace hocket {

enum class FaultKind {
  error,
  exception,
  lost_answer,  ///< the call is made, and an error returned: the connection was lost behind it
};

class FaultyStore final : public Store {
 public:
  /// Makes the call number `failing_call` (from 1) from now on fail; `inner` must outlive this
  /// object.
  FaultyStore(Store& inner, int failing_call, FaultKind kind = FaultKind::error)
      : inner_(&inner), calls_left_(failing_call), kind_(kind) {}

  /// From now on only calls of start_trial() count.
  void count_started_trials() { counts_started_trials_ = true; }

  /// Returns whether that call was made.
  bool has_failed() const { return calls_left_ <= 0; }

  /// While it is locked, every call fails.
  void set_locked(bool is_locked) { is_locked_ = is_locked; }

  /// Lets all claims count as lost, as with the connection to a server. From now on others have
  /// what is claimed, if `to_others`.
  void lose_claims(bool to_others = false) {
    *claims_held_ = false;
    claims_held_ = std::make_shared<bool>(true);
    refuses_claims_ = to_others;
  }

  /// Calls `act` once, right before a profile is removed: what another process does meanwhile.
  void before_removal(std::function<void()> act) { before_removal_ = std::move(act); }

  static Error fault() { return {ErrorCode::unavailable, "disk full: injected by a test"}; }

  Result<std::int64_t> upsert_topology(const Topology& topology) override {
    return pass([&] { return inner_->upsert_topology(topology); });
  }
  Result<std::int64_t> upsert_workload(const Workload& workload) override {
    return pass([&] { return inner_->upsert_workload(workload); });
  }
  Result<std::vector<TopologyRow>> topologies(UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->topologies(unread); });
  }
  Result<std::vector<WorkloadRow>> workloads(std::string_view selector,
                                             UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->workloads(selector, unread); });
  }
  Result<StudyRow> create_study(const NewStudy& study) override {
    return pass([&] { return inner_->create_study(study); });
  }
  Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) override {
    return pass([&] { return inner_->update_study(study_id, update); });
  }
  Result<void> remove_study(std::int64_t study_id, std::string_view expected_owner,
                            std::string_view actor) override {
    return pass([&] { return inner_->remove_study(study_id, expected_owner, actor); });
  }
  Result<std::vector<StudyRow>> studies(UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->studies(unread); });
  }
  Result<std::vector<StudyRow>> studies_of_key(std::int64_t topology_id, std::int64_t workload_id,
                                               UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->studies_of_key(topology_id, workload_id, unread); });
  }
  Result<StudyRow> study(std::string_view name_or_id) override {
    return pass([&] { return inner_->study(name_or_id); });
  }
  Result<std::optional<StudyRow>> latest_unfinished_study() override {
    return pass([&] { return inner_->latest_unfinished_study(); });
  }
  Result<TrialRow> start_trial(const NewTrial& trial) override {
    return pass([&] { return inner_->start_trial(trial); }, /*is_start=*/true);
  }
  using Store::finish_trial;
  Result<void> finish_trial(std::int64_t trial_id, const TrialOutcome& outcome,
                            std::string_view worker) override {
    return pass([&] { return inner_->finish_trial(trial_id, outcome, worker); });
  }
  Result<std::optional<TrialOutput>> trial_output(std::int64_t trial_id) override {
    return pass([&] { return inner_->trial_output(trial_id); });
  }
  Result<std::int64_t> abandon_running_trials(std::int64_t study_id) override {
    return pass([&] { return inner_->abandon_running_trials(study_id); });
  }
  Result<std::int64_t> renew_lease(std::int64_t trial_id, std::int64_t lease_ns) override {
    return pass([&] { return inner_->renew_lease(trial_id, lease_ns); });
  }
  Result<std::int64_t> expire_leases(std::int64_t study_id) override {
    return pass([&] { return inner_->expire_leases(study_id); });
  }
  Result<std::vector<WorkerRow>> workers(std::int64_t study_id) override {
    return pass([&] { return inner_->workers(study_id); });
  }
  Result<std::optional<TrialRow>> claim_trial(std::int64_t study_id,
                                              const NewClaim& claim) override {
    return pass([&] { return inner_->claim_trial(study_id, claim); });
  }
  Result<void> renew_worker(std::int64_t study_id, const NewClaim& claim) override {
    return pass([&] { return inner_->renew_worker(study_id, claim); });
  }
  Result<void> leave_worker(std::int64_t study_id, std::string_view worker, bool is_lost) override {
    return pass([&] { return inner_->leave_worker(study_id, worker, is_lost); });
  }
  Result<std::int64_t> offer_lost_trials(std::int64_t study_id) override {
    return pass([&] { return inner_->offer_lost_trials(study_id); });
  }
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail,
                                       UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->trials(study_id, detail, unread); });
  }
  Result<PromotionRow> promote(const NewPromotion& promotion) override {
    return pass([&] { return inner_->promote(promotion); });
  }
  Result<std::vector<ImportOutcome>> import_configs(const std::vector<NewImport>& imports,
                                                    std::string_view actor,
                                                    bool is_dry_run) override {
    return pass([&] { return inner_->import_configs(imports, actor, is_dry_run); });
  }
  Result<void> set_stage(std::int64_t promotion_id, PromotionStage stage, std::string_view actor,
                         std::string_view note) override {
    return pass([&] { return inner_->set_stage(promotion_id, stage, actor, note); });
  }
  Result<void> add_keeper(std::int64_t promotion_id, std::string_view owner, std::string_view actor,
                          std::string_view note) override {
    return pass([&] { return inner_->add_keeper(promotion_id, owner, actor, note); });
  }
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override {
    return pass(
        [&] { return inner_->current_promotion(topology_fingerprint, workload_fingerprint); });
  }
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter,
                                               UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->promotions(filter, unread); });
  }
  Result<std::optional<PromotionRow>> staged_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override {
    return pass(
        [&] { return inner_->staged_promotion(topology_fingerprint, workload_fingerprint); });
  }
  Result<KeyState> key_state(std::string_view topology_fingerprint,
                             std::string_view workload_fingerprint) override {
    return pass([&] { return inner_->key_state(topology_fingerprint, workload_fingerprint); });
  }
  Result<void> set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                             const KeyState& state, std::string_view actor) override {
    return pass([&] { return inner_->set_key_state(topology_id, workload_id, state, actor); });
  }
  Result<std::vector<KeyRow>> keys() override {
    return pass([&] { return inner_->keys(); });
  }
  Result<void> quarantine(const NewQuarantine& quarantine) override {
    return pass([&] { return inner_->quarantine(quarantine); });
  }
  Result<std::vector<QuarantineRow>> quarantined(std::int64_t topology_id,
                                                 std::int64_t workload_id) override {
    return pass([&] { return inner_->quarantined(topology_id, workload_id); });
  }
  Result<std::int64_t> lift_quarantine(std::int64_t topology_id, std::int64_t workload_id,
                                       std::string_view actor) override {
    return pass([&] { return inner_->lift_quarantine(topology_id, workload_id, actor); });
  }
  Result<void> record_audit(const NewAudit& audit) override {
    return pass([&] { return inner_->record_audit(audit); });
  }
  Result<std::vector<AuditRow>> audit(const AuditFilter& filter,
                                      UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->audit(filter, unread); });
  }
  Result<std::int64_t> prune_audit(std::int64_t before_ns, std::string_view actor) override {
    return pass([&] { return inner_->prune_audit(before_ns, actor); });
  }
  Result<ProfileRow> add_profile(const NewProfile& profile) override {
    return pass([&] { return inner_->add_profile(profile); });
  }
  Result<std::vector<ProfileRow>> profiles(UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->profiles(unread); });
  }
  Result<ProfileRow> profile(std::string_view name_or_id) override {
    return pass([&] { return inner_->profile(name_or_id); });
  }
  Result<std::vector<ProfileIteration>> profile_iterations(std::int64_t profile_id) override {
    return pass([&] { return inner_->profile_iterations(profile_id); });
  }
  Result<std::vector<ProfileMetric>> profile_metrics(std::int64_t profile_id,
                                                     UnreadRows* unread = nullptr) override {
    return pass([&] { return inner_->profile_metrics(profile_id, unread); });
  }
  Result<void> keep_profile(std::int64_t profile_id, bool kept) override {
    return pass([&] { return inner_->keep_profile(profile_id, kept); });
  }
  Result<void> remove_profile(std::int64_t profile_id) override {
    if (before_removal_) std::exchange(before_removal_, nullptr)();
    return pass([&] { return inner_->remove_profile(profile_id); });
  }
  Result<ProfileRequestRow> request_profile(const NewProfileRequest& request) override {
    return pass([&] { return inner_->request_profile(request); });
  }
  Result<std::optional<ProfileRequestRow>> take_profile_request(std::string_view job_id,
                                                                std::string_view job_name,
                                                                std::int64_t max_age_ns) override {
    return pass([&] { return inner_->take_profile_request(job_id, job_name, max_age_ns); });
  }
  Result<std::vector<ProfileRequestRow>> profile_requests() override {
    return pass([&] { return inner_->profile_requests(); });
  }
  Result<std::int64_t> change_count() override {
    return pass([&] { return inner_->change_count(); });
  }
  Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) override {
    return pass([&] { return inner_->listen(std::move(on_change)); });
  }
  Result<std::unique_ptr<KeyClaim>> claim_key(std::int64_t topology_id,
                                              std::int64_t workload_id) override {
    if (refuses_claims_) return nullptr;
    auto claim = pass([&] { return inner_->claim_key(topology_id, workload_id); });
    if (!claim || !*claim) return claim;
    return std::make_unique<LosableClaim>(std::move(*claim), claims_held_);
  }

 private:
  class LosableClaim final : public KeyClaim {
   public:
    LosableClaim(std::unique_ptr<KeyClaim> claim, std::shared_ptr<bool> is_held)
        : claim_(std::move(claim)), is_held_(std::move(is_held)) {}
    bool is_held() override { return *is_held_ && claim_->is_held(); }

   private:
    std::unique_ptr<KeyClaim> claim_;
    std::shared_ptr<bool> is_held_;
  };

  template <class Call>
  auto pass(Call&& call, bool is_start = false) -> decltype(call()) {
    if (is_locked_) return failure(Error{ErrorCode::timed_out, "the store is locked"});
    if (counts_started_trials_ && !is_start) return call();
    if (--calls_left_ != 0) return call();
    if (kind_ == FaultKind::lost_answer) (void)call();
    if (kind_ == FaultKind::exception) throw std::runtime_error(fault().message);
    return failure(fault());
  }

  Store* inner_;
  int calls_left_;
  FaultKind kind_;
  bool is_locked_ = false, refuses_claims_ = false, counts_started_trials_ = false;
  std::shared_ptr<bool> claims_held_ = std::make_shared<bool>(true);
  std::function<void()> before_removal_;
};

}  // namespace hocket
