#include "tuner/study/trial_crew.h"

#include <utility>

#include "core/base/check.h"

namespace hocket {

Result<std::int64_t> SerialCrew::start(const TrialToRun& trial) {
  HOCKET_CHECK(!started_, "a serial crew runs one trial at a time");
  started_ = trial;
  return next_number_;
}

Result<std::optional<EndedTrial>> SerialCrew::wait() {
  HOCKET_CHECK(started_, "a serial crew waits for a trial that was started");
  const TrialToRun trial = *std::exchange(started_, std::nullopt);
  auto outcome = runner_.run(trial.params, trial.incumbent);
  HOCKET_TRY(outcome);
  return EndedTrial{next_number_++, std::move(*outcome), {}};
}

}  // namespace hocket
