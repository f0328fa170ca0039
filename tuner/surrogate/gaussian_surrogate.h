#pragma once

// A plain Gaussian process as surrogate (tuner/surrogate/gaussian_process.h), for spaces about
// which nothing is known in advance. Values are warped first: the worse half keeps its ranks but
// not its distances (half-rank warping, Song et al., "The Vizier Gaussian Process Bandit
// Algorithm", 2024, section 4.2), since the distance of a bad point says little about the location
// of the best one.

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/surrogate/gaussian_process.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// Transformation of the values before they are modelled. A search warps; an assessment of how well
/// every value is predicted does not.
enum class ValueWarp { none, worse_half };

class GaussianSurrogate final : public Surrogate {
 public:
  /// Most told points that the model keeps, since its time grows with their square.
  static constexpr std::size_t kMostKept = 256;

  explicit GaussianSurrogate(const Space& space, ValueWarp warp = ValueWarp::worse_half);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override;
  std::string basis() const override { return "a Gaussian process"; }

  /// Returns a matrix whose column j holds the mean without the j-th value. Rows and columns are
  /// the told points that the model keeps, then the pending points. Requires fit().
  Eigen::MatrixXd leave_one_out() const;

 private:
  const ValueWarp warp_;
  std::vector<bool> categorical_;
  std::optional<GaussianProcess> process_;
  /// Mean and deviation by which the process's values are standardised.
  double centre_ = 0, scale_ = 1;
};

/// Returns `values` with the worse (larger) half replaced by normal quantiles of their ranks, with
/// the standard deviation estimated from the better half, whose values stay. Equal values stay
/// equal.
std::vector<double> half_rank_warped(std::vector<double> values);

}  // namespace hocket
