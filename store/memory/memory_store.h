#pragma once

// A Store in memory, for tests and for sweeps that nobody needs to remember. Thread-safe.

#include <mutex>

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
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) override;
  Result<PromotionRow> promote(const NewPromotion& promotion) override;
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) override;

 private:
  Result<void> check_references(std::optional<std::int64_t> topology_id,
                                std::optional<std::int64_t> workload_id) const;

  const WallClock now_unix_ns_;

  std::mutex mutex_;
  // All below: guarded by mutex_, ordered by id.
  std::vector<TopologyRow> topologies_;
  std::vector<WorkloadRow> workloads_;
  std::vector<StudyRow> studies_;
  std::vector<TrialRow> trials_;
  std::vector<PromotionRow> promotions_;
  std::int64_t last_trial_id_ = 0;
};

}  // namespace hocket::memory
