#include "archive/studies/told_trial.h"

#include <utility>

namespace hocket {
namespace {

Result<Params> params_of(const TrialRow& row) {
  auto params = params_from_json(row.params);
  if (!params) return failure(params.error().in("trial " + std::to_string(row.number)));
  return params;
}

}  // namespace

TrialOutcome outcome_of(const TrialRow& row) {
  TrialOutcome outcome;
  outcome.state = row.state;
  outcome.value = row.value.value_or(0);
  outcome.spread = row.spread.value_or(0);
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

Result<FinishedTrial> finished_trial(const TrialRow& row) {
  auto params = params_of(row);
  HOCKET_TRY(params);
  return FinishedTrial{.number = row.number - 1,
                       .phase = row.phase,
                       .params = std::move(*params),
                       .outcome = outcome_of(row),
                       .worker = row.worker};
}

Result<SessionTrial> session_trial(const TrialRow& row) {
  auto params = params_of(row);
  HOCKET_TRY(params);
  return SessionTrial{.number = row.number - 1,
                      .params = std::move(*params),
                      .outcome = outcome_of(row),
                      .began = row.started_at_ns,
                      .ended = row.finished_at_ns.value_or(0)};
}

}  // namespace hocket
