#pragma once

// The model of the objective that a search learns from its trials. One thread at a time.
// Deterministic.

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// A value on the modelled scale: the objective's logarithm if all values are positive.
struct Observation {
  UnitPoint point;
  double value = 0;
  /// Standard error of `value`, in addition to the noise between trials; 0 if not known.
  double standard_error = 0;
};

/// The recommendation minimises the mean plus this many standard deviations: an uncertain point may
/// be worth a trial, but is not worth the risk for a training run.
inline constexpr double kCaution = 1;

/// Predictive distribution of the noise-free objective.
struct Belief {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;  ///< standard deviation, > 0
};

class Surrogate {
 public:
  virtual ~Surrogate() = default;

  /// Fits the model. `told` has at least one observation, may repeat points, and must extend the
  /// `told` of the previous call. `pending` points are being measured and are taken at their
  /// believed values.
  virtual void fit(std::span<const Observation> told, std::span<const Observation> pending) = 0;

  /// Returns beliefs with one row per point. Requires fit().
  virtual Belief believe(std::span<const UnitPoint> points) = 0;

  /// Returns the standard deviation of measurements of one point, which a Belief does not include;
  /// 0 if not known. Requires fit().
  virtual double noise() const { return 0; }

  /// Returns what the beliefs are based on, in a few words for people.
  virtual std::string basis() const = 0;
};

}  // namespace hocket
