#pragma once

// A density over the values of one parameter from those that were seen: a mixture of one window for
// each of them and a wide one, the prior (Bergstra et al., NeurIPS 2011, section 4.2; the widths
// are Optuna's). Numbers have normal windows on the parameter's unit interval, cut off at its ends;
// choices have windows that prefer one of them. Immutable; thread-safe.

#include <random>
#include <vector>

#include "tuner/space/parameter.h"

namespace hocket {

class ParzenWindows {
 public:
  /// `values` in the order in which they were seen, each inside the domain; later ones weigh more
  /// where there are many. `domain` must outlive this.
  ParzenWindows(const Domain& domain, const std::vector<ParameterValue>& values);

  ParameterValue draw(std::mt19937_64& random) const;

  /// The logarithm of the probability of `value`, or of its density where the domain has too many
  /// values to tell them apart; up to a constant of the domain.
  double log_density(const ParameterValue& value) const;

 private:
  struct Window {
    double weight = 0;  ///< all together 1
    double centre = 0;
    double width = 0;  ///< standard deviation
  };

  void place_windows(const std::vector<ParameterValue>& values, const std::vector<double>& weights);
  void count_choices(const std::vector<ParameterValue>& values, const std::vector<double>& weights);

  const Domain& domain_;
  std::vector<Window> windows_;  ///< of a number
  std::vector<double> shares_;   ///< of choices: the probability of each
};

}  // namespace hocket
