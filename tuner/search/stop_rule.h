#pragma once

// Rules that end a search before its trials are used up. Pure; thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// Progress of a search, as far as the stop rules use it. Shares are relative to the best value so
/// far.
struct SearchProgress {
  /// Improvements expected by each suggestion of a model, in order.
  std::vector<double> expected_improvements = {};
  /// Believed upper bound on how much worse the recommendation is than the best of the space.
  std::optional<double> regret_bound = {};
  /// Standard error of a trial's value; nothing if not reported.
  std::optional<double> noise = {};
  /// Exposed communication of the best trial; nothing if not reported.
  std::optional<double> exposed = {};
};

class StopRule {
 public:
  virtual ~StopRule() = default;

  /// Returns why to stop, in one line; nothing to continue.
  virtual std::optional<std::string> reason(const SearchProgress& progress) const = 0;
};

/// Stops when the last three suggestions each expected less than 1 %.
std::unique_ptr<StopRule> expected_improvement_rule();
/// Stops when the remaining gain is less than the noise of a trial (Makarova et al., "Automatic
/// Termination for Hyperparameter Optimization", AutoML 2022).
std::unique_ptr<StopRule> regret_rule();
/// Stops when no exposed communication is left: the iteration takes as long as its computation.
std::unique_ptr<StopRule> overlap_rule();

/// Returns all rules, in this order.
std::vector<std::unique_ptr<StopRule>> stop_rules();

}  // namespace hocket
