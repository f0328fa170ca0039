#include "tuner/trial/trial_runner.h"

#include <cmath>

#include "core/base/statistics.h"

namespace hocket {

std::string metric_of_other(std::size_t index) {
  return "objective_" + std::to_string(index + 2);
}

std::vector<double> others_in(const std::map<std::string, std::vector<double>>& metrics) {
  std::vector<double> others;
  for (;;) {
    const auto found = metrics.find(metric_of_other(others.size()));
    if (found == metrics.end() || found->second.empty()) return others;
    others.push_back(median(found->second));
  }
}

std::vector<double> costs_of(const TrialOutcome& outcome, std::span<const Direction> directions) {
  std::vector<double> result{cost(outcome.value, direction_at(directions, 0))};
  for (std::size_t i = 0; i < outcome.others.size(); ++i)
    result.push_back(cost(outcome.others[i], direction_at(directions, i + 1)));
  return result;
}

TrialOutcome finite_or_failed(TrialOutcome outcome) {
  if (outcome.state != TrialState::complete) return outcome;
  std::vector<double> values{outcome.value};
  values.insert(values.end(), outcome.others.begin(), outcome.others.end());
  for (const double value : values) {
    if (std::isfinite(value)) continue;
    outcome.state = TrialState::failed;
    outcome.message = "expected a finite value, found " + to_text(value);
    break;
  }
  return outcome;
}

TrialOutcome complete_trial(std::vector<double> samples) {
  TrialOutcome outcome;
  outcome.state = TrialState::complete;
  outcome.value = median(samples);
  outcome.spread = spread(samples);
  outcome.samples = std::move(samples);
  return outcome;
}

}  // namespace hocket
