#include "archive/studies/told_trial.h"

#include <utility>

namespace hocket {
TrialOutcome outcome_of(const TrialRow& row) {
  TrialOutcome outcome;
  outcome.state = row.state;
  outcome.value = row.value;
  outcome.spread = row.spread;
  outcome.message = row.message;
  outcome.metrics = row.measurements;
  if (auto samples = outcome.metrics.extract(kSamplesMetric); !samples.empty())
    outcome.samples = std::move(samples.mapped());
  if (row.state == TrialState::complete) outcome.others = others_in(outcome.metrics);
  return outcome;
}

TrialResult stored_result(const TrialOutcome& outcome) {
  TrialResult result{.state = outcome.state, .message = outcome.message};
  result.measurements = outcome.metrics;
  result.output = outcome.output;
  if (outcome.state == TrialState::complete) {
    result.value = outcome.value;
    result.spread = outcome.spread;
    result.measurements[kSamplesMetric] = outcome.samples;
  }
  return result;
}

Result<Trial> trial_of(const TrialRow& row) {
  auto params = params_from_json(row.params);
  if (!params) return failure(params.error().in("trial " + std::to_string(row.number)));
  return Trial{.number = row.number - 1,
               .phase = row.phase,
               .params = std::move(*params),
               .outcome = outcome_of(row),
               .worker = row.worker,
               .began = row.started_at_ns,
               .ended = row.finished_at_ns.value_or(0)};
}

}  // namespace hocket
