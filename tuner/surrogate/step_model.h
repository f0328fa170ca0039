#pragma once

// The simulator as a function of a search space: the iteration time of a step under a setting of
// the scheduler's knobs, with the constants that no profile knows exactly left open. Immutable;
// thread-safe.
//
// The step is the one that a profile described or, without one, a nominal step whose proportions
// are open, too: all that is then assumed is that gradients are cut, sent within a credit window
// and awaited by the next forward pass. Its times are in units of the measured default.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "tuner/space/space.h"

namespace hocket {

class StepModel {
 public:
  /// One value for each open constant, each on a scale on which its doubt is about normal.
  using Constants = Eigen::VectorXd;

  /// Nothing when no parameter of `space` is a knob that the simulator knows. `step` must validate.
  static std::optional<StepModel> make(const Space& space, std::optional<StepDescription> step);

  bool is_nominal() const { return nominal_; }
  /// Whether every parameter of `space` is a knob that the simulator knows.
  static bool knows_all(const Space& space);
  /// What is believed of the constants before anything is measured; independent of each other.
  const Constants& expected() const { return expected_; }
  const Constants& deviation() const { return deviation_; }
  /// Steps for differences, small and larger than the simulator's own jumps.
  const Constants& difference() const { return difference_; }
  /// A constant as people know it; a factor is kept as its logarithm.
  struct Meaning {
    std::string_view name, text;
    bool is_factor;
  };
  /// Requires an index into expected().
  static Meaning meaning(Eigen::Index constant);
  /// The nearest constants that mean something.
  Constants admit(Constants constants) const;

  /// The knobs that `params` sets, among those that the simulator knows.
  ScheduleConfig config(const Params& params) const;

  /// The step under certain constants. Immutable; thread-safe.
  class Step {
   public:
    /// Logarithm of the steady period in ns.
    double log_time(const ScheduleConfig& config) const;
    /// Never above log_time(), and computed at once: all the computation, all parts through the
    /// channels, and all parts through the credit window.
    double log_time_at_least(const ScheduleConfig& config) const;

   private:
    friend class StepModel;
    explicit Step(StepDescription step);

    StepDescription step_;
    std::optional<PreparedStep> prepared_;  ///< nothing where no description may hold the constants
  };
  Step with(const Constants& constants) const;

 private:
  StepModel() = default;

  StepDescription step_with(const Constants& constants) const;

  StepDescription step_;
  bool nominal_ = false;
  Constants expected_, deviation_, difference_;
};

}  // namespace hocket
