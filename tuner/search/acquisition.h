#pragma once

// Acquisition functions: the value of trying a point, given the surrogate's belief about it.
// Immutable; thread-safe.

#include <memory>

namespace hocket {

/// The surrogate's belief about one point.
struct Prospect {
  double mean = 0;
  double deviation = 1;  ///< standard deviation, > 0
  double completes = 1;  ///< probability that a trial there completes
};

class Acquisition {
 public:
  virtual ~Acquisition() = default;

  /// Returns the acquisition value; higher is better. `incumbent` is the lowest believed mean of a
  /// measured point.
  virtual double score(const Prospect& prospect, double incumbent) const = 0;
};

/// Logarithm of the expected improvement on the incumbent, times the probability of completion
/// (Gardner et al., "Bayesian Optimization with Inequality Constraints", ICML 2014).
std::unique_ptr<Acquisition> expected_improvement();

/// Lower confidence bound: the mean minus `deviations` standard deviations, negated (Srinivas et
/// al., ICML 2010), with a penalty for the probability of failure. Values are logarithms of times.
std::unique_ptr<Acquisition> confidence_bound(double deviations);

/// Returns log E[max(best − Y, 0)], the logarithm of the expected improvement below `best` of a
/// value Y believed to be normal(mean, deviation²) (Jones et al., J. Global Optimization 1998). The
/// logarithm distinguishes points where the improvement itself would underflow to 0 (Ament et al.,
/// NeurIPS 2023). Requires deviation > 0.
double log_expected_improvement(double mean, double deviation, double best);

}  // namespace hocket
