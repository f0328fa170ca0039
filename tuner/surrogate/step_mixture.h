#pragma once

// Several simulated steps as one surrogate: the belief is the mixture of theirs, each weighted by
// the probability of the measurements under it (Bayesian model averaging; Hoeting et al., Stat.
// Sci. 1999).

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "tuner/surrogate/step_surrogate.h"

namespace hocket {

class StepMixture final : public Surrogate {
 public:
  /// `possible` is not empty; `space` must outlive this.
  StepMixture(const Space& space, std::vector<PossibleStep> possible);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override { return likeliest().noise(); }
  std::string basis() const override { return likeliest().basis(); }
  /// Returns the weights of the steps, in the order of the models; their sum is 1. Requires fit().
  const Eigen::VectorXd& weights() const { return weights_; }
  /// Returns the calibration of the step with the largest weight. Requires fit().
  StepCalibration calibration() const { return likeliest().calibration(); }

 private:
  const StepSurrogate& likeliest() const;
  /// Fits the steps that are not left out, and weighs them.
  void weigh(std::span<const Observation> told, std::span<const Observation> pending);

  std::vector<StepSurrogate> steps_;
  /// Logarithms of the probabilities before measurements; of a step that is left out, of 0.
  Eigen::VectorXd expected_;
  Eigen::VectorXd weights_;
  std::size_t told_ = 0;  ///< measurements that were weighed
};

}  // namespace hocket
