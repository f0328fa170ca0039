#pragma once

// When a search is over before its trials are used up. Pure; thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// What a search knows of its own progress. Shares are of the best value so far.
struct SearchProgress {
  /// Of each suggestion that a model made, in order: the improvement that it expected.
  std::vector<double> expected_improvements = {};
  /// By how much at most what is recommended is worse than the best of the space, as believed.
  std::optional<double> regret_bound = {};
  /// Standard error of a trial's value; nothing when trials do not say.
  std::optional<double> noise = {};
  /// Communication of the best trial that nothing hid; nothing when trials do not say.
  std::optional<double> exposed = {};
};

class StopRule {
 public:
  virtual ~StopRule() = default;

  /// Why to stop, one line; nothing to go on.
  virtual std::optional<std::string> reason(const SearchProgress& progress) const = 0;
};

/// The last three suggestions expected less than 1 % each.
std::unique_ptr<StopRule> expected_improvement_rule();
/// What is left to gain is less than the noise of a trial (Makarova et al., "Automatic Termination
/// for Hyperparameter Optimization", AutoML 2022).
std::unique_ptr<StopRule> regret_rule();
/// No exposed communication is left: the iteration takes as long as its computation.
std::unique_ptr<StopRule> overlap_rule();

/// All of them, in this order.
std::vector<std::unique_ptr<StopRule>> stop_rules();

}  // namespace hocket
