#pragma once

// Transfer from an earlier study (Donor, tuner/search/search.h) to a search: settings to try first,
// and the mean of its model, as long as that helps. Pure functions; the surrogate belongs to one
// thread at a time. Deterministic.
//
// The new measurements decide whether the mean helps: each is left out once, and the share of pairs
// that a model without it ranks in the wrong order must be smaller with the donor's mean than
// without (the ranking loss of Feurer, Letham and Bakshy, "Scalable Meta-Learning for Bayesian
// Optimization using Ranking-Weighted Gaussian Process Ensembles", AutoML 2018, section 4).
//
// If the surrogate of a search is the simulator (tuner/search/optimizer.h), the donor's settings
// are tried but its mean is not used: the simulator is already the mean, calibrated on this job.

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/surrogate/gaussian_surrogate.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// Number of a donor's settings that are tried before anything else.
inline constexpr std::size_t kReplayedSettings = 3;
/// Least number of values that both the donor and the search must have before the donor's mean is
/// used.
inline constexpr std::size_t kLeastTransferValues = 5;
/// Most settings of a donor that are kept: the mean needs no more, and costs the square of them.
inline constexpr std::size_t kMostDonorSettings = 100;

/// Returns the part of the donor that `space` admits: each setting once with the mean of its
/// values, by rising value, without settings of which a trial failed. At most kMostDonorSettings,
/// evenly over the ranks.
Donor adapted_donor(const Donor& donor, const Space& space);

/// Returns the best settings of an adapted donor, at most kReplayedSettings.
std::vector<Params> best_settings(const Donor& adapted);

/// Returns "among the best of study gpt2-1, at distance 2.3".
std::string replay_reason(const Donor& donor);

/// Returns the share of the pairs of unequal `values` that are ranked in the wrong order. Column j
/// of `beliefs` holds the beliefs about every value of a model that was not told the j-th; the j-th
/// belief is compared with the others. Returns 0 without such pairs.
double ranking_loss(const Eigen::MatrixXd& beliefs, std::span<const double> values);

/// A Gaussian process on the measurements (tuner/surrogate/gaussian_surrogate.h). Uses the donor's
/// mean as prior mean while that ranks the measurements better; otherwise behaves exactly as
/// without a donor.
class TransferSurrogate final : public Surrogate {
 public:
  /// Requires a donor adapted to `space` with at least kLeastTransferValues values.
  TransferSurrogate(const Space& space, const Donor& donor);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override;
  std::string basis() const override;

  /// Returns whether the donor's mean is in use since the last fit().
  bool joins() const { return joins_; }

 private:
  const std::string study_;
  /// Model of the donor's values, without warping: the warped value of a bad point depends on the
  /// others.
  GaussianSurrogate donor_;
  GaussianSurrogate plain_;  ///< model of the measurements
  GaussianSurrogate rest_;   ///< model of the measurements minus the scaled donor's mean
  /// The prior mean of a measurement is `slope_` · (donor's mean − `centre_`).
  double centre_ = 0, slope_ = 0;
  bool joins_ = false;
};

}  // namespace hocket
