#pragma once

// How much a point is worth trying, given what is believed of it. Immutable; thread-safe.

#include <memory>

namespace hocket {

/// What is believed of one point.
struct Prospect {
  double mean = 0;
  double deviation = 1;  ///< standard deviation, > 0
  double completes = 1;  ///< probability that a trial there does
};

class Acquisition {
 public:
  virtual ~Acquisition() = default;

  /// Higher is better; `incumbent` is the lowest value that is believed of a measured point.
  virtual double score(const Prospect& prospect, double incumbent) const = 0;
};

/// The logarithm of the expected improvement on the incumbent, times the probability to complete
/// (Gardner et al., "Bayesian Optimization with Inequality Constraints", ICML 2014).
std::unique_ptr<Acquisition> expected_improvement();

/// `deviations` below the mean, as what may well be there (Srinivas et al., ICML 2010); a failure
/// costs its improbability's share of a trial. Values are logarithms of times.
std::unique_ptr<Acquisition> confidence_bound(double deviations);

/// Logarithm of the expected improvement below `best` of a value believed normal(mean, deviation²):
/// log E[max(best − Y, 0)] (Jones et al., J. Global Optimization 1998). The logarithm keeps points
/// apart where the improvement itself would underflow to 0 (Ament et al., NeurIPS 2023).
/// Requires deviation > 0.
double log_expected_improvement(double mean, double deviation, double best);

}  // namespace hocket
