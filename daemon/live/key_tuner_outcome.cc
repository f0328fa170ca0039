// The end of a candidate once its job has answered.

#include <algorithm>
#include <utility>

#include "archive/studies/told_trial.h"
#include "core/base/statistics.h"
#include "daemon/live/key_tuner.h"

namespace hocket {
namespace {

std::vector<double> numbers(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Result<void> KeyTuner::conclude() {
  if (!offered_ || !outcome_) return {};
  const auto job = parts_.jobs.find(explorer_);
  // A job that is offered the configuration it has kept refuses it.
  const bool has_it = job && job->description.config == offered_->config;
  const bool is_kept = outcome_->status == ChangeStatus::applied ||
                       (outcome_->status == ChangeStatus::rejected && has_it);
  if (is_kept) {
    if (auto ok = promote_offered(); !ok) return ok;
  }
  const bool is_measured = outcome_->status != ChangeStatus::rejected &&
                           !outcome_->candidate_ns.empty() && !outcome_->current_ns.empty();
  return is_measured ? conclude_measured(is_kept) : conclude_unmeasured(is_kept);
}

Result<void> KeyTuner::promote_offered() {
  const auto current = parts_.store.current_promotion(key_.topology, key_.workload);
  HOCKET_TRY(current);
  const nlohmann::json config = to_json(offered_->config);
  // It was promoted before an error, or before the daemon was started again.
  if (*current && (*current)->config == config) return {};
  std::optional<MeasuredGain> measured;
  if (!outcome_->candidate_ns.empty() && !outcome_->current_ns.empty()) {
    const double candidate = median(numbers(outcome_->candidate_ns));
    const double before = median(numbers(outcome_->current_ns));
    measured = MeasuredGain{candidate, before, 1 - candidate / before};
  }
  HOCKET_TRY(parts_.store.promote({.topology_id = topology_id_,
                                   .workload_id = workload_id_,
                                   .study_id = study_->id,
                                   .config = config,
                                   .measured = measured,
                                   .origin = PromotionOrigin::live,
                                   .stage = PromotionStage::released,
                                   .actor = "job " + explorer_,
                                   .note = outcome_->message}));
  return {};
}

Result<void> KeyTuner::conclude_measured(bool is_kept) {
  const auto candidate = numbers(outcome_->candidate_ns), current = numbers(outcome_->current_ns);
  const double scale = base_ns_ == 0 ? 1 : base_ns_ / median(current);
  std::vector<double> samples = candidate;
  for (double& sample : samples) sample *= scale;
  TrialOutcome outcome = complete_trial(std::move(samples));
  outcome.message = outcome_->message;
  outcome.metrics[kReferenceMetric] = current;
  if (auto ok = parts_.store.finish_trial(offered_->trial_id, outcome); !ok) return ok;
  if (!is_kept && median(candidate) > median(current)) {
    if (auto ok = parts_.store.quarantine({.topology_id = topology_id_,
                                           .workload_id = workload_id_,
                                           .config = to_json(offered_->config),
                                           .reason = outcome_->message,
                                           .actor = "job " + explorer_});
        !ok) {
      return ok;
    }
  }
  ++(is_kept ? counts_.kept : counts_.rolled_back);
  rejections_ = 0;
  const Params params = offered_->params;
  end_offered(is_kept, *outcome.value);
  if (is_kept) drift_ = DriftDetector(candidate);
  return session_->tell(params, outcome);
}

Result<void> KeyTuner::conclude_unmeasured(bool is_kept) {
  if (is_kept) {
    // It will be measured as the current configuration.
    HOCKET_TRY(parts_.store.abandon_running_trials(study_->id));
    session_->withdraw(offered_->params);
    ++counts_.kept;
    end_offered(true, 0);
    return {};
  }
  TrialOutcome outcome;
  outcome.message = outcome_->message;
  if (auto ok = parts_.store.finish_trial(offered_->trial_id, outcome); !ok) return ok;
  ++counts_.rejected;
  if (++rejections_ >= kMostRejections) left_alone_.insert(explorer_);
  const Params params = offered_->params;
  end_offered(false, 0);
  return session_->tell(params, outcome);
}

Result<void> KeyTuner::leave_removed_study() {
  if (!study_) return {};
  const auto row = parts_.store.study(std::to_string(study_->id));
  if (row) return {};
  if (row.error().code != ErrorCode::not_found) return failure(row.error());
  parts_.log.write(LogLevel::warning, "the study was removed while it ran",
                   {{"key", to_string(key_)}, {"study", study_->name}});
  if (offered_) end_offered(outcome_ && outcome_->status == ChangeStatus::applied, 0);
  base_ns_ = 0;
  baseline_ns_.clear();
  study_.reset();
  session_.reset();
  asked_.reset();
  answer_.reset();
  return {};
}

void KeyTuner::end_offered(bool is_kept, double base_ns) {
  if (is_kept) {
    const auto job = parts_.jobs.find(explorer_);
    parts_.jobs.runs_with(explorer_, offered_->config, job ? job->version : 0);
    base_ = offered_->config;
    base_ns_ = base_ns;
    baseline_ns_.clear();
    drift_ = DriftDetector();
  }
  parts_.feed.forget(job_candidate_topic(explorer_));
  offered_.reset();
  outcome_.reset();
}

}  // namespace hocket
