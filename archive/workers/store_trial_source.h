#pragma once

// Trials of the studies in a store, for workers in this process and for a daemon that gives them to
// workers elsewhere. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "archive/workers/trial_source.h"
#include "store/store.h"

namespace hocket {

class StoreTrialSource final : public TrialSource {
 public:
  /// `store` must outlive this.
  explicit StoreTrialSource(Store& store) : store_(store) {}

  Result<StudyRow> find(std::string_view name_or_id) override;
  Result<ClaimAnswer> claim(std::int64_t study_id, const WorkerClaim& claim) override;
  Result<void> renew(std::int64_t study_id, const NewClaim& claim) override;
  Result<void> leave(std::int64_t study_id, std::string_view worker) override;
  Result<void> finish(std::int64_t study_id, const Trial& trial) override;

 private:
  Result<std::int64_t> longest_trial_ns(std::int64_t study_id) const;
  /// Returns why the trial has failed that delivered too little (tuner/study/few_measurements.h).
  Result<std::optional<std::string>> too_few(std::int64_t study_id, const Trial& trial) const;
  /// Gives `answer` a trial of its study, with what that knows by now.
  Result<void> add_claimed(const TrialRow& row, ClaimAnswer& answer) const;

  Store& store_;
};

}  // namespace hocket
