#include "tuner/study/trial_crew.h"

#include <utility>

#include "core/base/check.h"

namespace hocket {

Result<std::int64_t> SerialCrew::start(const Trial& trial, std::span<const double> incumbent) {
  HOCKET_CHECK(!started_, "a serial crew runs one trial at a time");
  started_ = trial;
  started_->number = next_number_;
  started_->worker.clear();
  incumbent_ = incumbent;
  return next_number_;
}

Result<std::optional<Trial>> SerialCrew::wait() {
  HOCKET_CHECK(started_, "a serial crew waits for a trial that was started");
  Trial trial = *std::exchange(started_, std::nullopt);
  auto outcome = runner_.run(trial.params, incumbent_, shown_number(trial));
  HOCKET_TRY(outcome);
  trial.outcome = std::move(*outcome);
  ++next_number_;
  return trial;
}

}  // namespace hocket
