#pragma once

// The crew of a study whose trials are run by workers (archive/workers/worker.h), in this process,
// on this host or on others. They and the study's owner, who has this crew, meet in the store: the
// owner offers trials there, and workers claim them. A trial whose worker is lost is offered again,
// and has failed once kMostLosses workers were lost with it, since it may be what they were lost
// of. Only the owner offers trials, so when the store's answer to an offer is lost, the trial with
// the next number shows whether it was made. One thread.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/workers/patience.h"
#include "archive/workers/waiting.h"
#include "core/base/clock.h"
#include "store/store.h"
#include "tuner/study/trial_crew.h"

namespace hocket {

inline constexpr std::int64_t kMostLosses = 3;

/// When the store comes back, leases have ended that nobody could renew. For so long the trials of
/// those workers are not offered again, so that they can still give what they have measured.
inline constexpr std::int64_t kReturnGraceNs = 15'000'000'000;

class WorkerCrew final : public TrialCrew {
 public:
  /// Called at every look at the store with the workers that are there. An error ends the study.
  using OnLook = std::function<Result<void>(const std::vector<WorkerRow>& workers)>;

  /// All must outlive this. `study` is owned by this process. A wait that ends without a change is
  /// followed by a look at `cancel`. While the store is away the crew waits, as long as it takes:
  /// workers may have measured trials that wait for it, too.
  WorkerCrew(Store& store, const StudyRow& study, const Clock& clock, const CancelToken& cancel,
             InterruptibleWait wait, OnLook on_look = {}, SayWaiting say = {});

  /// Comes before all other calls.
  Result<std::vector<Trial>> running() override;
  Result<std::size_t> free() override;
  /// Gives no incumbent: workers ask the store for it (archive/workers/trial_source.h).
  Result<std::int64_t> start(const Trial& trial, std::span<const double> incumbent) override;
  Result<std::optional<Trial>> wait() override;
  Result<bool> has_ended() override;

 private:
  Result<void> check_owner() const;
  /// Offers a trial, once, however often the store is away meanwhile.
  Result<TrialRow> offer(const NewTrial& trial) const;
  /// Returns the trial behind the last one that this crew knows, if there is one. It must be
  /// `trial`.
  Result<std::optional<TrialRow>> find_offer(const NewTrial& trial) const;
  /// Returns the workers that are there, after trials of those that are not were offered again.
  Result<std::vector<WorkerRow>> look() const;
  /// Returns how many of `workers` have no trial.
  std::size_t places_of(const std::vector<WorkerRow>& workers) const;
  /// Returns the trial among `rows` that ended first of those that this crew waits for.
  Result<const TrialRow*> first_ended(const std::vector<TrialRow>& rows) const;
  Result<void> give_up_lost(const std::vector<TrialRow>& rows) const;
  Result<Trial> ended_trial(std::int64_t id);

  Store& store_;
  const StudyRow study_;
  const Clock& clock_;
  const CancelToken& cancel_;
  const InterruptibleWait wait_;
  const OnLook on_look_;
  const Patience patience_;
  std::map<std::int64_t, std::int64_t> running_;  ///< numbers of trials by their ids
  std::optional<std::int64_t> last_number_;  ///< highest number of the study's trials in the store
  std::size_t places_ = 0;                   ///< free places that the study knows of
  /// When a call has last found the store away.
  mutable std::optional<std::int64_t> away_ns_;
};

}  // namespace hocket
