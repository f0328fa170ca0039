#pragma once

// One trial: the outcome of running one setting, and the seam to whatever runs it. Plain values;
// a runner belongs to one thread at a time.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/direction.h"
#include "core/protocol/job_report.h"
#include "core/protocol/trial_output.h"
#include "core/protocol/trial_status.h"
#include "tuner/space/params.h"

namespace hocket {

struct TrialOutcome {
  TrialState state = TrialState::failed;
  double value = 0;   ///< as measured, whether that is minimised or maximised; if complete
  double spread = 0;  ///< half interquartile range of the samples
  std::vector<double> samples;
  /// Values of further objectives, in order; meaningful if complete.
  std::vector<double> others = {};
  /// All measurements: "wall_ns" (of the whole command), "peak_memory_bytes" (of all its
  /// processes); with a report also "iteration_ns", "compute_ns", "communication_ns" and
  /// "exposed_ns", one value an iteration; samples of further objectives (metric_of_other).
  std::map<std::string, std::vector<double>> metrics;
  /// Why the trial failed or ended early, or a warning; one line, valid UTF-8.
  std::string message;
  std::optional<RunReport> report;
  TrialOutput output = {};

  bool operator==(const TrialOutcome&) const = default;
};

/// Runs trials, one at a time.
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// `incumbent` holds the samples of the best trial so far: a trial that is clearly slower may end
  /// before its time (tuner/trial/early_end.h) and is complete with what it has; empty: it runs to
  /// its end. A trial that fails is an outcome. An error means that the study cannot go on: the
  /// command cannot be started, or (interrupted) the user asked for an end.
  virtual Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent) = 0;
};

/// Samples of the current configuration, taken in turn with those of the candidate, where a value
/// is relative to them (daemon/live/key_tuner.h).
inline constexpr const char* kReferenceMetric = "current_ns";

/// Returns the name in TrialOutcome::metrics of the samples of further objective `index`, which
/// counts from 0: "objective_2", …
std::string metric_of_other(std::size_t index);

/// Returns the values of further objectives, as many as `metrics` has without a gap.
std::vector<double> others_in(const std::map<std::string, std::vector<double>>& metrics);

/// Returns the costs (core/protocol/direction.h) of all objectives of a complete trial.
std::vector<double> costs_of(const TrialOutcome& outcome, std::span<const Direction> directions);

/// Returns `outcome`, or a failed one that says why if it is complete with a value that is not
/// finite.
TrialOutcome finite_or_failed(TrialOutcome outcome);

/// Returns the outcome of a trial that measured `samples`, of which there is at least one.
TrialOutcome complete_trial(std::vector<double> samples);

}  // namespace hocket
