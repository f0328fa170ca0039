#include "archive/studies/told_trial.h"

#include <utility>

namespace hocket {
TrialOutcome outcome_of(const TrialRow& row) {
  TrialOutcome outcome;
  outcome.state = row.state;
  outcome.value = row.value;
  outcome.spread = row.spread;
  outcome.message = row.message;
  take_measurements(outcome, row.measurements);
  return outcome;
}

Result<Trial> trial_of(const TrialRow& row) {
  auto params = params_from_json(row.params);
  if (!params) return failure(params.error().in("trial " + std::to_string(row.number)));
  return Trial{.id = row.id,
               .number = row.number - 1,
               .phase = row.phase,
               .params = std::move(*params),
               .outcome = outcome_of(row),
               .worker = row.worker,
               .began = row.started_at_ns,
               .ended = row.finished_at_ns.value_or(0)};
}

}  // namespace hocket
