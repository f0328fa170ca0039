#pragma once

// What a search believes of the points that it has not measured, learned from those that it has.
// One thread at a time. Deterministic.

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// A value on the scale that is modelled: the objective's logarithm where all values are positive.
struct Observation {
  UnitPoint point;
  double value = 0;
  double standard_error = 0;  ///< of `value`, beside the noise between trials; 0: not known
};

/// A recommendation is the point whose mean plus so many deviations is lowest: what is uncertain
/// may be worth a trial, but is not worth betting a training run on.
inline constexpr double kCaution = 1;

/// Of the noise-free objective.
struct Belief {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;  ///< standard deviation, > 0
};

class Surrogate {
 public:
  virtual ~Surrogate() = default;

  /// Learns from `told` (at least one; points may repeat), which goes on where the last call's
  /// ended, and takes `pending` points, which are being measured, at the values that were believed
  /// of them.
  virtual void fit(std::span<const Observation> told, std::span<const Observation> pending) = 0;

  /// One row a point. Requires fit().
  virtual Belief believe(std::span<const UnitPoint> points) = 0;

  /// Standard deviation of measurements of one point, which a Belief leaves out; 0: not known.
  /// Requires fit().
  virtual double noise() const { return 0; }

  /// What the belief rests on, a few words for people.
  virtual std::string basis() const = 0;
};

}  // namespace hocket
