#pragma once

// The simulator as a function of a search space: the iteration time of a step under given knobs,
// with the constants that no profile knows exactly as open parameters. Const functions are
// thread-safe.
//
// The step comes from a profile; without one there are several nominal steps, whose proportions are
// open as well. A nominal step assumes only that gradients are cut, sent within a credit window and
// awaited by the next forward pass. Its times are in units of the measured default.
//
// A step that describes parameter servers predicts sums over these as well. Without a description
// the model predicts the same either way, and the surrogate learns the difference.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/description/step_description.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "tuner/space/space.h"

namespace hocket {

struct PossibleStep;

class StepModel {
 public:
  /// One value per open constant, each on a scale on which its uncertainty is about normal.
  using Constants = Eigen::VectorXd;

  /// Creates the model. Returns nothing if no parameter of `space` is a knob that the simulator
  /// knows, or if the step does not communicate. `step` must validate and be the same on all ranks
  /// (core/description/step_programs.h); the uncertainty of its quality widens the deviations of
  /// the constants, up to those of the nominal step.
  static std::optional<StepModel> make(const Space& space, std::optional<StepDescription> step);
  /// Returns the models that a search takes to be possible: that of `step`, if it is given, and the
  /// nominal steps, which differ in what the open constants cannot adjust smoothly. The first is
  /// that of make(); empty where make() returns nothing.
  static std::vector<PossibleStep> make_possible(const Space& space,
                                                 std::optional<StepDescription> step);

  bool is_nominal() const { return nominal_; }
  /// Says why the profile of a described step is not a good one; empty if it is, and of a nominal
  /// step.
  const std::string& doubt() const { return step_.quality.reason; }
  /// Returns whether the simulator knows every parameter of `space`.
  static bool knows_all(const Space& space);
  /// Return the means and standard deviations of the constants before any measurement; the
  /// constants are independent of each other.
  const Constants& expected() const { return expected_; }
  const Constants& deviation() const { return deviation_; }
  /// Multiplies the deviations by `factor`, at least 1, up to those of the nominal step.
  void widen(double factor);
  /// Returns the step widths for finite differences: small, but larger than the simulator's own
  /// jumps.
  const Constants& difference() const { return difference_; }
  /// Description of a constant for people; a factor is stored as its logarithm.
  struct Meaning {
    std::string_view name, text;
    bool is_factor;
  };
  /// Requires an index into expected().
  static Meaning meaning(Eigen::Index constant);
  /// Returns the nearest valid constants.
  Constants admit(Constants constants) const;

  /// Returns the configuration given by the knobs in `params` that the simulator knows.
  ScheduleConfig config(const Params& params) const;

  /// The step under given constants. Immutable; thread-safe.
  class Step {
   public:
    /// Returns the logarithm of the steady period in ns.
    double log_time(const ScheduleConfig& config) const;
    /// Returns a lower bound of log_time() without simulation: the maximum of all computation, all
    /// parts through the channels, and all parts through the credit window.
    double log_time_at_least(const ScheduleConfig& config) const;

   private:
    friend class StepModel;
    explicit Step(StepDescription step);

    StepDescription step_;
    /// Absent if the constants are outside what a step description may hold.
    std::optional<PreparedStep> prepared_;
  };
  Step with(const Constants& constants) const;

 private:
  StepModel(StepDescription step, bool nominal);

  StepDescription step_with(const Constants& constants) const;

  StepDescription step_;
  bool nominal_ = false;
  Constants expected_, deviation_, difference_;
};

struct PossibleStep {
  StepModel model;
  /// Before any measurement, among those that are considered.
  double probability = 1;
};

}  // namespace hocket
