#include "core/protocol/trial_outcome.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

std::string number_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::running:
      return "running";
    case TrialState::complete:
      return "complete";
    case TrialState::failed:
      return "failed";
    case TrialState::timeout:
      return "timeout";
  }
  return {};
}

Result<TrialState> parse_trial_state(std::string_view text) {
  for (const auto state :
       {TrialState::running, TrialState::complete, TrialState::failed, TrialState::timeout}) {
    if (text == to_string(state)) return state;
  }
  return failure(ErrorCode::invalid_argument,
                 "trial state: expected one of running, complete, failed, timeout, found \"" +
                     std::string(text) + "\"");
}

std::string_view to_string(TrialPhase phase) {
  return phase == TrialPhase::search ? "search" : "confirm";
}

Result<TrialPhase> parse_trial_phase(std::string_view text) {
  for (const auto phase : {TrialPhase::search, TrialPhase::confirm}) {
    if (text == to_string(phase)) return phase;
  }
  return failure(
      ErrorCode::invalid_argument,
      "trial phase: expected one of search, confirm, found \"" + std::string(text) + "\"");
}

std::string metric_of_other(std::size_t index) {
  return "objective_" + std::to_string(index + 2);
}

std::vector<double> others_in(const Measurements& metrics) {
  std::vector<double> others;
  for (;;) {
    const auto found = metrics.find(metric_of_other(others.size()));
    if (found == metrics.end() || found->second.empty()) return others;
    others.push_back(median(found->second));
  }
}

Measurements measurements_of(const TrialOutcome& outcome) {
  Measurements all = outcome.metrics;
  if (!outcome.samples.empty()) all[kSamplesMetric] = outcome.samples;
  return all;
}

void take_measurements(TrialOutcome& outcome, Measurements measurements) {
  auto samples = measurements.extract(kSamplesMetric);
  outcome.samples = samples.empty() ? std::vector<double>() : std::move(samples.mapped());
  outcome.metrics = std::move(measurements);
  outcome.others.clear();
  if (outcome.state == TrialState::complete) outcome.others = others_in(outcome.metrics);
}

std::vector<double> costs_of(const TrialOutcome& outcome, std::span<const Direction> directions) {
  HOCKET_CHECK(outcome.value, "a complete trial has a value");
  std::vector<double> result{cost(*outcome.value, direction_at(directions, 0))};
  for (std::size_t i = 0; i < outcome.others.size(); ++i)
    result.push_back(cost(outcome.others[i], direction_at(directions, i + 1)));
  return result;
}

void set_failed(TrialOutcome& outcome, std::string message) {
  outcome.state = TrialState::failed;
  outcome.value.reset();
  outcome.spread.reset();
  outcome.samples.clear();
  outcome.others.clear();
  outcome.message = std::move(message);
}

TrialOutcome finite_or_failed(TrialOutcome outcome) {
  if (outcome.state != TrialState::complete) return outcome;
  HOCKET_CHECK(outcome.value, "a complete trial has a value");
  std::vector<double> values{*outcome.value};
  values.insert(values.end(), outcome.others.begin(), outcome.others.end());
  for (const double value : values) {
    if (std::isfinite(value)) continue;
    set_failed(outcome, "expected a finite value, found " + number_text(value));
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
