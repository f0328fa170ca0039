#pragma once

// One trial: what came of running one setting, and the seam to whatever runs it. Plain values.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/report.h"
#include "core/result.h"
#include "core/trial.h"
#include "tuner/params.h"

namespace hocket {

struct TrialOutcome {
  TrialState state = TrialState::failed;
  double value = 0;   ///< lower is better; meaningful when complete
  double spread = 0;  ///< half interquartile range of the samples
  std::vector<double> samples;
  /// Everything measured: "wall_ns" (of the whole command); with a report also "iteration_ns",
  /// "compute_ns", "communication_ns" and "exposed_ns", one value an iteration.
  std::map<std::string, std::vector<double>> metrics;
  /// Why it failed, or a warning; one line, valid UTF-8.
  std::string message;
  std::optional<RunReport> report;

  bool operator==(const TrialOutcome&) const = default;
};

/// Runs settings, one at a time.
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// A trial that fails is an outcome. An error means that the sweep cannot go on: the command
  /// cannot be started, or (interrupted) the user asked for an end.
  virtual Result<TrialOutcome> run(const Params& params) = 0;
};

/// Runs a function in this process.
class FunctionRunner final : public TrialRunner {
 public:
  using Function = std::function<Result<TrialOutcome>(const Params&)>;

  explicit FunctionRunner(Function function) : function_(std::move(function)) {}

  Result<TrialOutcome> run(const Params& params) override { return function_(params); }

 private:
  Function function_;
};

/// The outcome of a trial that measured `samples` (at least one).
TrialOutcome complete_trial(std::vector<double> samples);

}  // namespace hocket
