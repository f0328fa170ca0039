#include "tuner/surrogate/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>

#include "core/base/check.h"

namespace hocket {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Hyperparameters = GaussianProcess::Hyperparameters;

/// Most points from which hyperparameters are learned: an evaluation costs their number cubed.
constexpr Index kLearnedFrom = 64;
/// Most evaluations per start of the optimiser.
constexpr int kEvaluations = 30;

/// Returns the squared distances in one dimension between the rows of two sets of points.
ArrayXXd squared_distances(const MatrixXd& a, const MatrixXd& b, Index dimension,
                           bool categorical) {
  const ArrayXXd difference =
      a.col(dimension).replicate(1, b.rows()) - b.col(dimension).transpose().replicate(a.rows(), 1);
  if (categorical) return (difference != 0).cast<double>();
  return difference.square();
}

/// Returns the Matérn-5/2 correlation at squared scaled distances.
ArrayXXd matern(const ArrayXXd& squared) {
  const ArrayXXd root = (5 * squared).sqrt();
  return (1 + root + 5.0 / 3 * squared) * (-root).exp();
}

/// Returns the derivative of matern() with respect to the squared distance.
ArrayXXd matern_slope(const ArrayXXd& squared) {
  const ArrayXXd root = (5 * squared).sqrt();
  return -5.0 / 6 * (1 + root) * (-root).exp();
}

/// Returns the lower Cholesky factor; adds growing jitter if rounding has made the matrix
/// indefinite.
MatrixXd cholesky(MatrixXd covariance) {
  const double scale = covariance.diagonal().mean();
  double jitter = 1e-10;
  for (int attempt = 0; attempt < 6; ++attempt, jitter *= 100) {
    const Eigen::LLT<MatrixXd> llt(covariance);
    if (llt.info() == Eigen::Success) return llt.matrixL();
    covariance.diagonal().array() += jitter * scale;
  }
  HOCKET_CHECK(false, "a covariance with its own size on the diagonal is positive definite");
}

/// Solves covariance · x = values, given the lower Cholesky factor of the covariance.
VectorXd solve(const MatrixXd& factor, const VectorXd& values) {
  return factor.transpose().triangularView<Eigen::Upper>().solve(
      factor.triangularView<Eigen::Lower>().solve(values));
}

/// The negative log posterior of the hyperparameters, up to a constant, and its gradient. The
/// coordinates are logarithms: of q for each dimension, of the signal variance, and of the noise
/// variance.
class Posterior {
 public:
  Posterior(const MatrixXd& points, const VectorXd& values, const VectorXd& noise,
            const std::vector<bool>& categorical)
      : values_(values), noise_(noise) {
    for (Index k = 0; k < points.cols(); ++k) {
      distances_.push_back(
          squared_distances(points, points, k, categorical[static_cast<std::size_t>(k)]));
    }
  }

  std::size_t dimensions() const { return distances_.size() + 2; }

  double operator()(const std::vector<double>& logs, std::vector<double>& gradient) const {
    const Hyperparameters h = unpack(logs);
    const Index n = values_.size();
    ArrayXXd squared = ArrayXXd::Zero(n, n);
    for (std::size_t k = 0; k < distances_.size(); ++k) {
      squared += h.inverse_squared_scales[static_cast<Index>(k)] * distances_[k];
    }
    const ArrayXXd signal = h.signal_variance * matern(squared);
    MatrixXd covariance = signal.matrix();
    covariance.diagonal().array() += h.noise_variance + noise_.array();
    const MatrixXd factor = cholesky(std::move(covariance));
    const VectorXd weights = solve(factor, values_);
    double loss = values_.dot(weights) / 2 + factor.diagonal().array().log().sum();

    if (!gradient.empty()) {
      const MatrixXd inverse_factor =
          factor.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(n, n));
      const MatrixXd inverse = inverse_factor.transpose() * inverse_factor;
      const ArrayXXd residual = (inverse - weights * weights.transpose()).array();
      const ArrayXXd slope = h.signal_variance * matern_slope(squared) * residual;
      for (std::size_t k = 0; k < distances_.size(); ++k) {
        gradient[k] =
            h.inverse_squared_scales[static_cast<Index>(k)] * (slope * distances_[k]).sum() / 2;
      }
      gradient[distances_.size()] = (residual * signal).sum() / 2;
      gradient[distances_.size() + 1] = h.noise_variance * residual.matrix().trace() / 2;
    }
    add_priors(h, loss, gradient);
    return loss;
  }

  static Hyperparameters unpack(const std::vector<double>& logs) {
    const std::size_t dimensions = logs.size() - 2;
    Hyperparameters h;
    h.inverse_squared_scales.resize(static_cast<Index>(dimensions));
    for (std::size_t k = 0; k < dimensions; ++k) {
      h.inverse_squared_scales[static_cast<Index>(k)] = std::exp(logs[k]);
    }
    h.signal_variance = std::exp(logs[dimensions]);
    h.noise_variance = std::exp(logs[dimensions + 1]);
    return h;
  }

 private:
  static void add_priors(const Hyperparameters& h, double& loss, std::vector<double>& gradient) {
    const std::size_t dimensions = static_cast<std::size_t>(h.inverse_squared_scales.size());
    for (std::size_t k = 0; k < dimensions; ++k) {
      const double q = h.inverse_squared_scales[static_cast<Index>(k)];
      loss += 0.1 * (q + 1 / q);
      if (!gradient.empty()) gradient[k] += 0.1 * (q - 1 / q);
    }
    loss += h.signal_variance - std::log(h.signal_variance);
    loss += 30 * h.noise_variance - 0.1 * std::log(h.noise_variance);
    if (gradient.empty()) return;
    gradient[dimensions] += h.signal_variance - 1;
    gradient[dimensions + 1] += 30 * h.noise_variance - 0.1;
  }

  const VectorXd& values_;
  const VectorXd& noise_;
  std::vector<ArrayXXd> distances_;
};

/// Keeps the best point that the optimiser visited, so that its failures do no harm.
struct Descent {
  const Posterior& posterior;
  std::vector<double> best;
  double best_loss = std::numeric_limits<double>::infinity();

  static double evaluate(const std::vector<double>& logs, std::vector<double>& gradient,
                         void* data) {
    auto& descent = *static_cast<Descent*>(data);
    const double loss = descent.posterior(logs, gradient);
    if (loss < descent.best_loss) {
      descent.best_loss = loss;
      descent.best = logs;
    }
    return loss;
  }
};

Hyperparameters most_likely(const Posterior& posterior) {
  const std::size_t dimensions = posterior.dimensions() - 2;
  std::vector<double> low(posterior.dimensions(), std::log(1e-3));
  std::vector<double> high(posterior.dimensions(), std::log(1e3));
  low[dimensions + 1] = std::log(1e-6);
  high[dimensions + 1] = std::log(1.0);

  Descent descent{posterior, {}};
  for (const double q : {1.0, 10.0, 100.0}) {
    std::vector<double> logs(posterior.dimensions(), std::log(q));
    logs[dimensions] = std::log(1.0);
    logs[dimensions + 1] = std::log(0.01);
    nlopt::opt optimizer(nlopt::LD_LBFGS, static_cast<unsigned>(posterior.dimensions()));
    optimizer.set_min_objective(&Descent::evaluate, &descent);
    optimizer.set_lower_bounds(low);
    optimizer.set_upper_bounds(high);
    optimizer.set_ftol_abs(1e-3);
    optimizer.set_maxeval(kEvaluations);
    double loss = 0;
    try {
      optimizer.optimize(logs, loss);
    } catch (const std::exception&) {
      // The line search gave up; the points it visited count.
    }
  }
  HOCKET_CHECK(!descent.best.empty(), "the posterior is finite at every start");
  return Posterior::unpack(descent.best);
}

}  // namespace

GaussianProcess GaussianProcess::fit(MatrixXd points, const VectorXd& values, const VectorXd& noise,
                                     std::vector<bool> categorical) {
  HOCKET_CHECK(points.rows() > 0 && points.rows() == values.size() &&
                   points.rows() == noise.size() &&
                   static_cast<std::size_t>(points.cols()) == categorical.size(),
               "a value a point, a kind a dimension");
  HOCKET_CHECK(values.allFinite() && points.allFinite(), "a model of finite numbers");
  GaussianProcess process;
  // Hyperparameters need fewer points than the function itself.
  const Index step = (points.rows() + kLearnedFrom - 1) / kLearnedFrom;
  const auto some =
      Eigen::seq(points.rows() - 1 - (points.rows() - 1) / step * step, points.rows() - 1, step);
  const MatrixXd some_points = points(some, Eigen::all);
  const VectorXd some_values = values(some), some_noise = noise(some);
  process.hyperparameters_ =
      most_likely(Posterior(some_points, some_values, some_noise, categorical));
  process.points_ = std::move(points);
  process.categorical_ = std::move(categorical);

  MatrixXd covariance = process.covariance_with(process.points_);
  process.noise_ = noise.array() + process.hyperparameters_.noise_variance;
  covariance.diagonal() += process.noise_;
  process.factor_ = cholesky(std::move(covariance));
  process.weights_ = solve(process.factor_, values);
  return process;
}

MatrixXd GaussianProcess::covariance_with(const MatrixXd& points) const {
  ArrayXXd squared = ArrayXXd::Zero(points_.rows(), points.rows());
  for (Index k = 0; k < points_.cols(); ++k) {
    squared += hyperparameters_.inverse_squared_scales[k] *
               squared_distances(points_, points, k, categorical_[static_cast<std::size_t>(k)]);
  }
  return (hyperparameters_.signal_variance * matern(squared)).matrix();
}

GaussianProcess::Prediction GaussianProcess::predict(const MatrixXd& points) const {
  const MatrixXd covariance = covariance_with(points);
  const MatrixXd solved = factor_.triangularView<Eigen::Lower>().solve(covariance);
  const double prior = hyperparameters_.signal_variance;
  const VectorXd variance = prior - solved.colwise().squaredNorm().transpose().array();
  return {covariance.transpose() * weights_, variance.cwiseMax(1e-12 * prior).cwiseSqrt()};
}

MatrixXd GaussianProcess::leave_one_out() const {
  const Index n = points_.rows();
  const MatrixXd inverse_factor =
      factor_.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(n, n));
  const MatrixXd inverse = inverse_factor.transpose() * inverse_factor;
  // The mean at the fitted points is the smoother times the values. Leaving a value out is
  // equivalent to replacing it by the prediction from the others, which lowers it by its
  // leave-one-out residual.
  const MatrixXd smoother = MatrixXd::Identity(n, n) - noise_.asDiagonal() * inverse;
  const VectorXd residuals = weights_.cwiseQuotient(inverse.diagonal());
  const VectorXd values = factor_ * (factor_.transpose() * weights_);
  return (-smoother * residuals.asDiagonal()).colwise() + smoother * values;
}

}  // namespace hocket
