#pragma once

// The state, the phase and the outcome of a trial: what one run of the job under one setting has
// measured, or why it has not. The tuner, the store and the daemon have this one form of it. Plain
// values and pure functions; thread-safe.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/direction.h"
#include "core/protocol/job_report.h"
#include "core/protocol/trial_output.h"

namespace hocket {

enum class TrialState { running, complete, failed, timeout };

enum class TrialPhase {
  /// Searches for a better configuration.
  search,
  /// Measures the winner against the default again.
  confirm,
};

/// Returns the name of the enumerator.
std::string_view to_string(TrialState state);
std::string_view to_string(TrialPhase phase);

/// Parses the name of an enumerator. invalid_argument lists the allowed names.
Result<TrialState> parse_trial_state(std::string_view text);
Result<TrialPhase> parse_trial_phase(std::string_view text);

/// Measurements by metric name, each in the order in which they were taken.
using Measurements = std::map<std::string, std::vector<double>>;

struct TrialOutcome {
  TrialState state = TrialState::failed;
  /// As measured, whether that is minimised or maximised. A complete trial has one.
  std::optional<double> value = {};
  std::optional<double> spread = {};  ///< half interquartile range of the samples
  std::vector<double> samples = {};   ///< samples of the objective
  /// Values of further objectives, in order; meaningful if complete.
  std::vector<double> others = {};
  /// All other measurements: "wall_ns" (of the whole command), "peak_memory_bytes" (of all its
  /// processes); with a report also "iteration_ns", "compute_ns", "communication_ns" and
  /// "exposed_ns", one value an iteration; samples of further objectives (metric_of_other).
  Measurements metrics = {};
  /// Why the trial failed or ended early, or a warning. A runner says it in one line of valid
  /// UTF-8; a worker elsewhere may say it in any bytes.
  std::string message = {};
  std::optional<RunReport> report = {};
  TrialOutput output = {};

  bool operator==(const TrialOutcome&) const = default;
};

/// The samples of the objective among measurements_of().
inline constexpr const char* kSamplesMetric = "objective";

/// Samples of the current configuration, taken in turn with those of the candidate, where a value
/// is relative to them (daemon/live/key_tuner.h).
inline constexpr const char* kReferenceMetric = "current_ns";

/// Returns the name in TrialOutcome::metrics of the samples of further objective `index`, which
/// counts from 0: "objective_2", …
std::string metric_of_other(std::size_t index);

/// Returns the values of further objectives, as many as `metrics` has without a gap.
std::vector<double> others_in(const Measurements& metrics);

/// Returns all measurements of `outcome`, its samples among them.
Measurements measurements_of(const TrialOutcome& outcome);

/// Gives `outcome`, whose state is known, its measurements: samples, metrics and, if it is
/// complete, values of further objectives. Undoes measurements_of().
void take_measurements(TrialOutcome& outcome, Measurements measurements);

/// Returns the costs (core/protocol/direction.h) of all objectives of a complete trial.
std::vector<double> costs_of(const TrialOutcome& outcome, std::span<const Direction> directions);

/// Makes `outcome` a failed one for the reason `message`, without values and samples.
void set_failed(TrialOutcome& outcome, std::string message);

/// Returns `outcome`, or a failed one that says why if it is complete with a value that is not
/// finite.
TrialOutcome finite_or_failed(TrialOutcome outcome);

/// Returns the outcome of a trial that measured `samples`, of which there is at least one.
TrialOutcome complete_trial(std::vector<double> samples);

}  // namespace hocket
