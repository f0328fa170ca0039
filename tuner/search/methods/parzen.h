#pragma once

// A density over the values of one parameter, estimated from values seen: a mixture of one window
// per value and a wide one, the prior (Bergstra et al., NeurIPS 2011, section 4.2; the widths
// follow Optuna). Numbers have normal windows on the parameter's unit interval, truncated at its
// ends; choices have windows that prefer one of them. Immutable; thread-safe.

#include <random>
#include <vector>

#include "tuner/space/parameter.h"

namespace hocket {

class ParzenWindows {
 public:
  /// `values` are in the order in which they were seen, each inside the domain; if there are many,
  /// later ones weigh more. `domain` must outlive this.
  ParzenWindows(const Domain& domain, const std::vector<ParameterValue>& values);

  ParameterValue draw(std::mt19937_64& random) const;

  /// Returns the logarithm of the probability of `value`, or of its density if the domain has too
  /// many values to separate; up to a constant per domain.
  double log_density(const ParameterValue& value) const;

 private:
  struct Window {
    double weight = 0;  ///< all weights add up to 1
    double centre = 0;
    double width = 0;  ///< standard deviation
  };

  void place_windows(const std::vector<ParameterValue>& values, const std::vector<double>& weights);
  void count_choices(const std::vector<ParameterValue>& values, const std::vector<double>& weights);

  const Domain& domain_;
  std::vector<Window> windows_;  ///< windows of a number
  std::vector<double> shares_;   ///< probability of each choice
};

}  // namespace hocket
