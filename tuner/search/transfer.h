#pragma once

// What an earlier study (Donor, tuner/search/search.h) gives to a search: settings to try first,
// and the mean of its model, as long as that helps. Pure functions; the surrogate belongs to one
// thread at a time. Deterministic.
//
// Whether it helps is what the new measurements say: each is left out once, and the share of pairs
// that a model without it puts in the wrong order must be smaller with the donor's mean than
// without (the ranking loss of Feurer, Letham and Bakshy, "Scalable Meta-Learning for Bayesian
// Optimization using Ranking-Weighted Gaussian Process Ensembles", AutoML 2018, section 4).
//
// Where the surrogate of a search is the simulator (tuner/search/optimizer.h), the donor's settings
// are tried and no mean joins: the simulator is the mean already, calibrated on this very job.

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/surrogate/gaussian_surrogate.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// How many of a donor's settings are tried before anything else.
inline constexpr std::size_t kReplayedSettings = 3;
/// Values that a donor must have, and a search must know, before the donor's mean may join.
inline constexpr std::size_t kLeastTransferValues = 5;
/// A larger study is thinned out: its mean needs no more, and costs the square of them.
inline constexpr std::size_t kMostDonorSettings = 100;

/// What `space` admits of the donor: each setting once with the mean of its values, in the order of
/// rising values, and without those of which a trial failed. At most kMostDonorSettings of them,
/// evenly over the ranks.
Donor adapted(const Donor& donor, const Space& space);

/// The best of an adapted donor, at most kReplayedSettings.
std::vector<Params> best_settings(const Donor& adapted);

/// "among the best of study gpt2-1, at distance 2.3"
std::string replay_reason(const Donor& donor);

/// The share of the pairs of unequal `values` that are believed in the wrong order. Column j of
/// `beliefs` holds what is believed of every value by a model that was not told the j-th, which is
/// compared with the others. 0 without such pairs.
double ranking_loss(const Eigen::MatrixXd& beliefs, std::span<const double> values);

/// A Gaussian process on the measurements (tuner/surrogate/gaussian_surrogate.h), about the donor's
/// mean where that ranks the measurements better, and exactly as without a donor elsewhere.
class TransferSurrogate final : public Surrogate {
 public:
  /// The donor is adapted to `space` and has kLeastTransferValues or more.
  TransferSurrogate(const Space& space, const Donor& donor);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override;
  std::string basis() const override;

  /// Whether the donor's mean is in use since the last fit().
  bool joins() const { return joins_; }

 private:
  const std::string study_;
  /// Of the donor's values, as they are: what warping leaves of a bad value depends on the others.
  GaussianSurrogate donor_;
  GaussianSurrogate plain_;  ///< of the measurements
  GaussianSurrogate rest_;   ///< of what the donor's mean leaves of them
  /// The measurements are as far above their mean as the donor's mean is above `centre_`, times
  /// `slope_`.
  double centre_ = 0, slope_ = 0;
  bool joins_ = false;
};

}  // namespace hocket
