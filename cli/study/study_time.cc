#include "cli/study/study_time.h"

#include <utility>

namespace hocket {

void StudyTime::recall(std::int64_t run_ns, TrialPhase phase, TrialState state) {
  const std::lock_guard lock(mutex_);
  if (state != TrialState::timeout) budget_.took(run_ns);
  has_run_ = true;
  if (phase == TrialPhase::search) ++searched_;
}

void StudyTime::began(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  began_ns_[number] = clock_.now_ns();
}

std::string StudyTime::ended(const Trial& trial) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = clock_.now_ns();
  const auto begun = began_ns_.extract(trial.number);
  if (begun && trial.outcome.state != TrialState::timeout) budget_.took(now_ns - begun.mapped());
  if (trial.phase == TrialPhase::search) ++searched_;
  return std::exchange(has_run_, true) ? std::string() : budget_.outlook(now_ns);
}

std::string StudyTime::why_none_fits(TrialPhase phase) {
  const std::lock_guard lock(mutex_);
  std::string why = budget_.why_none_fits(phase, clock_.now_ns(), searched_);
  if (why.empty()) phase_ = phase;
  return why;
}

std::int64_t StudyTime::left_ns() const {
  const std::lock_guard lock(mutex_);
  return budget_.deadline_ns(phase_) - clock_.now_ns();
}

Result<void> StudyTime::check() const {
  const std::lock_guard lock(mutex_);
  if (clock_.now_ns() < budget_.end_ns()) return {};
  if (!has_run_) return failure(first_trial_error());
  return failure(ErrorCode::timed_out, "the " + time_span_text(budget_.total_ns()) +
                                           " of --max-time were up while trials ran");
}

Error StudyTime::first_trial_error() const {
  return {ErrorCode::timed_out,
          "the first trial, of the default, was not done within the " +
              time_span_text(budget_.total_ns()) +
              " of --max-time and was ended: give the study more time, or the command less to do"};
}

bool StudyTime::is_confirming() const {
  const std::lock_guard lock(mutex_);
  return phase_ == TrialPhase::confirm;
}

bool StudyTime::has_run() const {
  const std::lock_guard lock(mutex_);
  return has_run_;
}

std::function<std::int64_t()> time_left(const StudyTime* time) {
  if (time == nullptr) return {};
  return [time] { return time->left_ns(); };
}

Result<TrialOutcome> TimedRunner::run(const Params& params, std::span<const double> incumbent,
                                      std::int64_t number) {
  auto outcome = runner_->run(params, incumbent, number);
  if (!outcome || outcome->state != TrialState::timeout || time_.left_ns() > 0) return outcome;
  const std::string whole = "the " + time_span_text(time_.total_ns()) + " of --max-time";
  if (!time_.has_run()) return failure(time_.first_trial_error());
  if (time_.is_confirming())
    return failure(ErrorCode::timed_out, whole + " were up in a confirmation run, which was ended");
  outcome->message = "not done within what " + whole + " left for it; its processes were ended";
  return outcome;
}

MakeRunner timed_runners(MakeRunner make, const StudyTime* time) {
  if (time == nullptr) return make;
  return [make = std::move(make), time](
             const StudyRow& study,
             const StudyDefinition& definition) -> Result<std::unique_ptr<TrialRunner>> {
    auto runner = make(study, definition);
    HOCKET_TRY(runner);
    return std::make_unique<TimedRunner>(std::move(*runner), *time);
  };
}

}  // namespace hocket
