#pragma once

// Gaussian process regression with a Matérn-5/2 kernel and one length scale per dimension
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, sections 2.2 and 4.2).
// Immutable once fitted; thread-safe. Deterministic.
//
// A categorical dimension contributes distance 0 between equal coordinates and 1 between different
// ones. Hyperparameters maximise the posterior under priors meant for standardised values on the
// unit cube: log p(q) = −0.1 (q + 1/q) for each inverse squared length scale q, Gamma(2, 1) on the
// signal variance, Gamma(1.1, 30) on the noise variance.

#include <Eigen/Core>
#include <vector>

namespace hocket {

class GaussianProcess {
 public:
  /// Predictive distribution of the noise-free function.
  struct Prediction {
    Eigen::VectorXd mean;
    Eigen::VectorXd deviation;  ///< standard deviation, > 0
  };

  struct Hyperparameters {
    Eigen::VectorXd inverse_squared_scales;
    double signal_variance = 1;
    double noise_variance = 0.01;
  };

  /// Fits `values` (standardised, finite) at the rows of `points` (at least one). Points may
  /// repeat. `noise` holds the known noise variance of each value, added to the noise variance
  /// common to all.
  static GaussianProcess fit(Eigen::MatrixXd points, const Eigen::VectorXd& values,
                             const Eigen::VectorXd& noise, std::vector<bool> categorical);

  /// Returns the prediction for each row of `points`.
  Prediction predict(const Eigen::MatrixXd& points) const;

  /// Returns a matrix whose column j holds the mean at each fitted point for the process without
  /// the j-th value, with unchanged hyperparameters (section 5.4.2).
  Eigen::MatrixXd leave_one_out() const;

  const Hyperparameters& hyperparameters() const { return hyperparameters_; }

 private:
  GaussianProcess() = default;

  /// Returns the prior covariance between the fitted points (rows) and `points` (columns).
  Eigen::MatrixXd covariance_with(const Eigen::MatrixXd& points) const;

  Eigen::MatrixXd points_;
  std::vector<bool> categorical_;
  Hyperparameters hyperparameters_;
  Eigen::MatrixXd factor_;   ///< lower Cholesky factor of the covariance of the values
  Eigen::VectorXd weights_;  ///< inverse covariance times values
  Eigen::VectorXd noise_;    ///< variance of each value
};

}  // namespace hocket
