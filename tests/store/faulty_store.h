#pragma once

// A Store whose nth call fails before it does anything, for tests of what callers do about it. Not
// thread-safe.

#include <cstdint>
#include <utility>

#include "store/store.h"

namespace hocket {

class FaultyStore final : public Store {
 public:
  /// Call number `failing_call` (from 1) of those to come fails; `inner` must outlive this object.
  FaultyStore(Store& inner, int failing_call) : inner_(&inner), calls_left_(failing_call) {}

  static Error fault() { return {ErrorCode::unavailable, "disk full: injected by a test"}; }

  Result<std::int64_t> upsert_topology(const Topology& topology) override {
    return pass([&] { return inner_->upsert_topology(topology); });
  }
  Result<std::int64_t> upsert_workload(const Workload& workload) override {
    return pass([&] { return inner_->upsert_workload(workload); });
  }
  Result<std::vector<TopologyRow>> topologies() override {
    return pass([&] { return inner_->topologies(); });
  }
  Result<std::vector<WorkloadRow>> workloads(std::string_view selector) override {
    return pass([&] { return inner_->workloads(selector); });
  }
  Result<StudyRow> create_study(const NewStudy& study) override {
    return pass([&] { return inner_->create_study(study); });
  }
  Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) override {
    return pass([&] { return inner_->update_study(study_id, update); });
  }
  Result<std::vector<StudyRow>> studies() override {
    return pass([&] { return inner_->studies(); });
  }
  Result<StudyRow> study(std::string_view name_or_id) override {
    return pass([&] { return inner_->study(name_or_id); });
  }
  Result<std::optional<StudyRow>> latest_unfinished_study() override {
    return pass([&] { return inner_->latest_unfinished_study(); });
  }
  Result<TrialRow> start_trial(const NewTrial& trial) override {
    return pass([&] { return inner_->start_trial(trial); });
  }
  Result<void> finish_trial(std::int64_t trial_id, const TrialResult& result) override {
    return pass([&] { return inner_->finish_trial(trial_id, result); });
  }
  Result<std::int64_t> abandon_running_trials(std::int64_t study_id) override {
    return pass([&] { return inner_->abandon_running_trials(study_id); });
  }
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) override {
    return pass([&] { return inner_->trials(study_id, detail); });
  }
  Result<PromotionRow> promote(const NewPromotion& promotion) override {
    return pass([&] { return inner_->promote(promotion); });
  }
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override {
    return pass(
        [&] { return inner_->current_promotion(topology_fingerprint, workload_fingerprint); });
  }
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) override {
    return pass([&] { return inner_->promotions(filter); });
  }

 private:
  template <class Call>
  auto pass(Call&& call) -> decltype(call()) {
    if (--calls_left_ == 0) return failure(fault());
    return call();
  }

  Store* inner_;
  int calls_left_;
};

}  // namespace hocket
