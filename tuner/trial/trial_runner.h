#pragma once

// The outcome of one trial, and the interface to runners of settings. Plain values.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/job_report.h"
#include "core/protocol/trial_status.h"
#include "tuner/space/params.h"

namespace hocket {

struct TrialOutcome {
  TrialState state = TrialState::failed;
  double value = 0;   ///< lower is better; meaningful if complete
  double spread = 0;  ///< half interquartile range of the samples
  std::vector<double> samples;
  /// Values of further objectives, in order; meaningful if complete.
  std::vector<double> others = {};
  /// All metrics: "wall_ns" (of the whole command), "peak_memory_bytes" (of its largest process);
  /// with a report also "iteration_ns", "compute_ns", "communication_ns" and "exposed_ns", one
  /// value per iteration; samples of further objectives (metric_of_other).
  std::map<std::string, std::vector<double>> metrics;
  /// Why the trial failed or ended early, or a warning; one line, valid UTF-8.
  std::string message;
  std::optional<RunReport> report;

  bool operator==(const TrialOutcome&) const = default;
};

/// Runs trials, one at a time.
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// Runs one trial. `incumbent` holds the samples of the best trial so far: a trial that is
  /// clearly slower may be ended early (tuner/trial/early_end.h) and is complete with the samples
  /// it has; if empty, the trial runs to its end. A failed trial is an outcome. An error means that
  /// the study cannot continue: the command cannot be started, or (interrupted) the user requested
  /// the end.
  virtual Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent) = 0;
};

/// Runs a function in this process, always to its end.
class FunctionRunner final : public TrialRunner {
 public:
  using Function = std::function<Result<TrialOutcome>(const Params&)>;

  explicit FunctionRunner(Function function) : function_(std::move(function)) {}

  Result<TrialOutcome> run(const Params& params, std::span<const double>) override {
    return function_(params);
  }

 private:
  Function function_;
};

/// Returns the key in TrialOutcome::metrics for the samples of further objective `index`, from 0:
/// "objective_2", …
std::string metric_of_other(std::size_t index);

/// Returns the medians of further objectives, up to the first one missing in `metrics`.
std::vector<double> others_in(const std::map<std::string, std::vector<double>>& metrics);

/// Returns the outcome of a trial that measured `samples` (at least one).
TrialOutcome complete_trial(std::vector<double> samples);

}  // namespace hocket
