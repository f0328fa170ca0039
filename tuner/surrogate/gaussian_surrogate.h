#pragma once

// A Gaussian process alone as a surrogate (tuner/surrogate/gaussian_process.h), for spaces of which
// nothing is known. Values are warped before: the worse half keeps its ranks and loses its
// distances (half-rank warping, Song et al., "The Vizier Gaussian Process Bandit Algorithm", 2024,
// section 4.2), since how bad a bad point is says little about where the best one lies.

#include <optional>
#include <vector>

#include "tuner/surrogate/gaussian_process.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// What becomes of the values before they are modelled. A search warps; who asks how well every
/// value is predicted does not.
enum class Warp { none, worse_half };

class GaussianSurrogate final : public Surrogate {
 public:
  explicit GaussianSurrogate(const Space& space, Warp warp = Warp::worse_half);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override;
  std::string basis() const override { return "a Gaussian process"; }

  /// Column j: the mean at what was told and is pending, in that order, without the j-th value.
  /// Requires fit().
  Eigen::MatrixXd leave_one_out() const;

 private:
  const Warp warp_;
  std::vector<bool> categorical_;
  std::optional<GaussianProcess> process_;
  double centre_ = 0, scale_ = 1;  ///< of the values, which the process knows standardised
};

/// `values` with the worse (larger) half replaced by normal quantiles of their ranks, scaled so
/// that the better half, whose values stay, has the spread that a normal distribution would give
/// it. Equal values stay equal.
std::vector<double> half_rank_warped(std::vector<double> values);

}  // namespace hocket
