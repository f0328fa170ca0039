#include "tuner/archive/told_trial.h"

#include "core/statistics.h"

namespace hocket {

Evaluation evaluation_of(const TrialRow& trial, const Params& params) {
  Evaluation evaluation{.params = params, .value = trial.value};
  if (trial.state != TrialState::complete) evaluation.value.reset();
  const auto samples = trial.measurements.find(kObjectiveMetric);
  if (samples != trial.measurements.end() && trial.spread) {
    evaluation.standard_error = median_standard_error(*trial.spread, samples->second.size());
  }
  return evaluation;
}

}  // namespace hocket
