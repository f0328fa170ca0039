#include "tuner/surrogate/step_surrogate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "tuner/surrogate/matern_kernel.h"

namespace hocket {
namespace {

// Prior of b, the trust in the simulator's ratios, and its upper bound.
constexpr double kTrust = 1, kTrustDeviation = 0.15, kMostTrust = 1.5;

constexpr double kDiscrepancyLengthScale =
    0.4;  // length scale of the discrepancy, in the unit cube
constexpr double kDegreesOfFreedom = 4;
/// Standard deviation of the largest outlier.
constexpr double kMostOutlier = 0.5;

// Standard deviations that are tried, and their priors.
constexpr std::array kNoises{0.005, 0.008, 0.012, 0.018, 0.027, 0.04, 0.06, 0.09};
constexpr std::array kDiscrepancies{0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64};
constexpr double kExpectedNoise = 0.025, kNoiseSpread = 0.5;
constexpr double kExpectedDiscrepancy = 0.01, kDiscrepancySpread = 1.2;
/// Prior discrepancy if the simulator does not know every parameter.
constexpr double kExpectedDiscrepancyOfOthers = 0.1;

constexpr int kGaussNewtonRounds = 2;
/// Least expected gain in log posterior for which a Gauss-Newton step is worth its simulations.
constexpr double kWorthAStep = 0.05;

/// Error, in logarithms of time, from which a linear approximation is recomputed.
constexpr double kStale = 0.01;
constexpr double kLeastTrust = 1e-3;

/// Initial error assumed for times from earlier constants, and the number of points over which it
/// is averaged.
constexpr double kSlack = 0.05, kSlackMemory = 16;
/// Number of points that are averaged over the posterior.
constexpr std::size_t kAveragedPoints = 64;

/// Difference between the default's logarithms of time, predicted and measured, that a good profile
/// may have; from which on a profile is doubted; and from which on it is one of units.
constexpr double kGoodPrediction = 0.12, kDoubtedPrediction = 0.2, kOtherUnit = 3;
/// Difference from the simulated logarithm of time beyond which a value has another unit.
constexpr double kSameUnit = 0.7;

template <std::size_t N>
std::size_t nearest(const std::array<double, N>& values, double value) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < N; ++i)
    if (std::abs(std::log(values[i] / value)) < std::abs(std::log(values[best] / value))) best = i;
  return best;
}

double log_prior(double value, double expected, double spread) {
  const double z = std::log(value / expected) / spread;
  return -z * z / 2;
}

/// Returns log N(residual; 0, covariance), up to a constant.
double log_likelihood(const Eigen::VectorXd& residual, const Eigen::MatrixXd& covariance) {
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success) return -INFINITY;
  const Eigen::VectorXd whitened = factor.matrixL().solve(residual);
  return -whitened.squaredNorm() / 2 - factor.matrixLLT().diagonal().array().abs().log().sum();
}

}  // namespace

StepSurrogate::StepSurrogate(const Space& space, StepModel model)
    : space_(space), model_(std::move(model)), default_point_(space.encode(space.defaults())) {
  for (const Parameter& parameter : space.parameters())
    categorical_.push_back(std::holds_alternative<Choices>(parameter.domain));
  const Eigen::Index n = model_.expected().size() + 1;
  expected_.resize(n);
  deviation_.resize(n);
  expected_ << model_.expected(), kTrust;
  deviation_ << model_.deviation(), kTrustDeviation;
  constants_ = expected_;
  hyper_ = {kExpectedNoise,
            model_.knows_all(space) ? kExpectedDiscrepancy : kExpectedDiscrepancyOfOthers};
}

std::string StepSurrogate::basis() const {
  if (model_.is_nominal()) return "the simulator, calibrated on what was measured";
  std::string doubt = model_.doubt();
  if (prediction_error_ != 0) {
    doubt += (doubt.empty() ? "it predicts the default " : ", it predicts the default ") +
             percent(std::abs(std::expm1(-prediction_error_))) +
             (prediction_error_ > 0 ? " too short" : " too long");
  }
  if (doubt.empty()) return "the simulated step, calibrated on what was measured";
  return "the simulated step, whose profile is doubted (" + doubt +
         "), calibrated on what was measured";
}

StepCalibration StepSurrogate::calibration() const {
  HOCKET_CHECK(fits_ > 0, "fit first");
  StepCalibration calibration;
  const Eigen::Index trust = constants_.size() - 1;
  for (Eigen::Index i = 0; i <= trust; ++i) {
    const auto [name, text, is_factor] =
        i < trust ? StepModel::meaning(i)
                  : StepModel::Meaning{"trust", "trust b in the simulated ratios", false};
    calibration.constants.push_back({std::string(name), std::string(text), is_factor, expected_[i],
                                     deviation_[i], constants_[i], std::sqrt(covariance_(i, i))});
  }
  calibration.expected_noise = kExpectedNoise;
  calibration.noise = hyper_.noise;
  calibration.expected_discrepancy =
      model_.knows_all(space_) ? kExpectedDiscrepancy : kExpectedDiscrepancyOfOthers;
  calibration.discrepancy = hyper_.discrepancy;
  return calibration;
}

Eigen::VectorXd StepSurrogate::admit(Eigen::VectorXd constants) const {
  const Eigen::Index last = constants.size() - 1;
  constants.head(last) = model_.admit(constants.head(last));
  constants[last] = std::clamp(constants[last], 0.0, kMostTrust);
  return constants;
}

StepSurrogate::Simulator StepSurrogate::simulator(const Eigen::VectorXd& constants) const {
  StepModel::Step step = model_.with(constants.head(constants.size() - 1));
  const double default_log_time = step.log_time(model_.config(space_.decode(default_point_)));
  return {std::move(step), default_log_time, constants[constants.size() - 1]};
}

double StepSurrogate::predicted(const Simulator& by, double log_ratio) const {
  return offset_ + by.default_log_time + by.trust * log_ratio;
}

Eigen::VectorXd StepSurrogate::predict_observed(const Eigen::VectorXd& constants,
                                                std::size_t first) const {
  const Simulator there = simulator(constants);
  Eigen::VectorXd values(static_cast<Eigen::Index>(observations_.size() - first));
  for (std::size_t i = first; i < observations_.size(); ++i)
    values[static_cast<Eigen::Index>(i - first)] = predicted(there, there.log_ratio(configs_[i]));
  return values;
}

void StepSurrogate::fit(std::span<const Observation> told, std::span<const Observation> pending) {
  HOCKET_CHECK(!told.empty() && told.size() >= told_, "what was told stays told");
  observations_.resize(told_);
  configs_.resize(told_);
  kernel_.conservativeResize(static_cast<Eigen::Index>(told_), static_cast<Eigen::Index>(told_));
  // Calibrated one observation at a time, whenever fit() is called: the result depends only on the
  // sequence of told observations.
  for (; told_ < told.size(); ++told_) {
    add(told[told_]);
    if (told_ == 0) anchor();
    calibrate();
    ++fits_;
  }
  for (const Observation& observation : pending) add(observation);
  Eigen::VectorXd predicted(std::ssize(observations_));
  predicted << values_, predict_observed(constants_, told_);
  const Eigen::VectorXd residual = measured() - predicted;
  weigh(residual);
  rest_.compute(covariance_of_rest(hyper_));
  dual_ = rest_.solve(residual);
}

void StepSurrogate::add(const Observation& observation) {
  observations_.push_back(observation);
  configs_.push_back(model_.config(space_.decode(observation.point)));
  const auto n = std::ssize(observations_);
  kernel_.conservativeResize(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    kernel_(i, n - 1) = kernel_(n - 1, i) =
        kernel(observations_[static_cast<std::size_t>(i)].point, observation.point);
  }
}

Eigen::VectorXd StepSurrogate::measured() const {
  Eigen::VectorXd values(std::ssize(observations_));
  for (Eigen::Index i = 0; i < values.size(); ++i)
    values[i] = observations_[static_cast<std::size_t>(i)].value;
  return values;
}

void StepSurrogate::anchor() {
  const double difference = observations_.front().value - predict_observed(constants_)[0];
  const double distance = std::abs(difference);
  if (!model_.is_nominal() && distance > kDoubtedPrediction && distance < kOtherUnit) {
    // Whatever made the profile wrong about the default makes its constants uncertain.
    model_.widen(distance / kGoodPrediction);
    deviation_.head(deviation_.size() - 1) = model_.deviation();
    prediction_error_ = difference;
  }
  if (model_.is_nominal() || std::abs(difference) > kSameUnit) offset_ = difference;
}

double StepSurrogate::kernel(const UnitPoint& a, const UnitPoint& b) const {
  return matern_5_2(unit_distance(a, b, categorical_) / kDiscrepancyLengthScale);
}

Eigen::VectorXd StepSurrogate::noise_variances(double noise) const {
  Eigen::VectorXd variances(std::ssize(observations_));
  for (Eigen::Index i = 0; i < variances.size(); ++i) {
    const Observation& of = observations_[static_cast<std::size_t>(i)];
    variances[i] = (noise * noise + of.standard_error * of.standard_error) / weights_[i];
  }
  return variances;
}

Eigen::MatrixXd StepSurrogate::covariance_of_rest(const Hyperparameters& hyper) const {
  Eigen::MatrixXd covariance = hyper.discrepancy * hyper.discrepancy * kernel_;
  covariance.diagonal() += noise_variances(hyper.noise);
  return covariance;
}

void StepSurrogate::weigh(const Eigen::VectorXd& residual) {
  weights_.resize(residual.size());
  for (Eigen::Index i = 0; i < residual.size(); ++i) {
    const double error = observations_[static_cast<std::size_t>(i)].standard_error;
    const double z =
        std::max(0.0, residual[i]) / std::hypot(hyper_.noise, hyper_.discrepancy, error);
    const double weight = std::min(1.0, (kDegreesOfFreedom + 1) / (kDegreesOfFreedom + z * z));
    // Outliers have a bounded size: beyond it the model is wrong.
    const double least = std::min(1.0, std::hypot(hyper_.noise, error) / kMostOutlier);
    weights_[i] = std::max(weight, least * least);
  }
}

StepSurrogate::Hyperparameters StepSurrogate::most_likely(
    const Eigen::VectorXd& left, const Eigen::MatrixXd& of_constants) const {
  const double expected_discrepancy =
      model_.knows_all(space_) ? kExpectedDiscrepancy : kExpectedDiscrepancyOfOthers;
  const auto score = [&](std::size_t noise, std::size_t discrepancy) {
    const Hyperparameters hyper{kNoises[noise], kDiscrepancies[discrepancy]};
    return log_likelihood(left, of_constants + covariance_of_rest(hyper)) +
           log_prior(hyper.noise, kExpectedNoise, kNoiseSpread) +
           log_prior(hyper.discrepancy, expected_discrepancy, kDiscrepancySpread);
  };
  // Climbs from the current values, one grid step of one of the two at a time.
  std::size_t noise = nearest(kNoises, hyper_.noise);
  std::size_t discrepancy = nearest(kDiscrepancies, hyper_.discrepancy);
  double best = score(noise, discrepancy);
  for (bool moved = true; moved;) {
    moved = false;
    const std::pair<std::size_t, std::size_t> neighbours[] = {{noise + 1, discrepancy},
                                                              {noise - 1, discrepancy},
                                                              {noise, discrepancy + 1},
                                                              {noise, discrepancy - 1}};
    for (const auto& [n, d] : neighbours) {
      if (n >= kNoises.size() || d >= kDiscrepancies.size()) continue;
      const double there = score(n, d);
      if (!(there > best)) continue;
      best = there;
      noise = n;
      discrepancy = d;
      moved = true;
    }
  }
  return {kNoises[noise], kDiscrepancies[discrepancy]};
}

Eigen::MatrixXd StepSurrogate::jacobian() {
  std::vector<Eigen::Index> stale;
  for (Eigen::Index i = 0; i < values_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (at < slopes_.size()) {
      const Slope& line = slopes_[at];
      const double foretold = line.value + line.slope.dot(constants_ - line.at);
      if (std::abs(foretold - values_[i]) < kStale) continue;
    }
    stale.push_back(i);
  }
  slopes_.resize(static_cast<std::size_t>(values_.size()));
  draw_lines(stale);
  Eigen::MatrixXd jacobian(values_.size(), constants_.size());
  for (Eigen::Index i = 0; i < values_.size(); ++i)
    jacobian.row(i) = slopes_[static_cast<std::size_t>(i)].slope.transpose();
  return jacobian;
}

void StepSurrogate::draw_lines(const std::vector<Eigen::Index>& observations) {
  if (observations.empty()) return;
  const Eigen::Index last = constants_.size() - 1;
  const double by_default = predicted(simulator(constants_), 0);
  for (const Eigen::Index i : observations) {
    Slope& line = slopes_[static_cast<std::size_t>(i)];
    line = {values_[i], constants_, Eigen::VectorXd(constants_.size())};
    line.slope[last] = (values_[i] - by_default) / std::max(constants_[last], kLeastTrust);
  }
  for (Eigen::Index k = 0; k < last; ++k) {
    Eigen::VectorXd moved = constants_;
    moved[k] += model_.difference()[k];
    const double step = admit(moved)[k] - constants_[k];
    // At the upper bound of the constant, uses a backward difference.
    moved[k] = step > 0 ? constants_[k] + step : constants_[k] - model_.difference()[k];
    const Simulator there = simulator(moved);
    for (const Eigen::Index i : observations) {
      const auto at = static_cast<std::size_t>(i);
      slopes_[at].slope[k] = (predicted(there, there.log_ratio(configs_[at])) - values_[i]) /
                             (moved[k] - constants_[k]);
    }
  }
}

void StepSurrogate::calibrate() {
  const Eigen::VectorXd measured = this->measured();
  values_.conservativeResize(measured.size());
  values_.tail(1) = predict_observed(constants_, observations_.size() - 1);
  for (int round = 0; round < kGaussNewtonRounds; ++round) {
    const Eigen::MatrixXd slope = jacobian();
    const Eigen::VectorXd residual = measured - values_;
    weigh(residual);
    // Passes the residual of the linearised model with all constants at their priors.
    hyper_ = most_likely(residual + slope * (constants_ - expected_),
                         slope * deviation_.cwiseAbs2().asDiagonal() * slope.transpose());
    rest_.compute(covariance_of_rest(hyper_));
    if (!move_constants(measured, slope)) break;
  }
  // A residual that no step explains is the simulator's error or noise.
  const Eigen::VectorXd residual = measured - values_;
  weigh(residual);
  const Hyperparameters unexplained =
      most_likely(residual, Eigen::MatrixXd::Zero(residual.size(), residual.size()));
  hyper_.noise = std::max(hyper_.noise, unexplained.noise);
  hyper_.discrepancy = std::max(hyper_.discrepancy, unexplained.discrepancy);
  rest_.compute(covariance_of_rest(hyper_));
  const Eigen::MatrixXd slope = jacobian();
  covariance_ = precision_with(slope).llt().solve(
      Eigen::MatrixXd::Identity(constants_.size(), constants_.size()));
  log_evidence_ = log_likelihood(
      residual + slope * (constants_ - expected_),
      slope * deviation_.cwiseAbs2().asDiagonal() * slope.transpose() + covariance_of_rest(hyper_));
}

Eigen::MatrixXd StepSurrogate::precision_with(const Eigen::MatrixXd& slope) const {
  Eigen::MatrixXd precision = slope.transpose() * rest_.solve(slope);
  precision.diagonal() += deviation_.cwiseAbs2().cwiseInverse();
  return precision;
}

bool StepSurrogate::move_constants(const Eigen::VectorXd& measured, const Eigen::MatrixXd& slope) {
  const Eigen::VectorXd precision = deviation_.cwiseAbs2().cwiseInverse();
  const Eigen::VectorXd gradient = slope.transpose() * rest_.solve(measured - values_) -
                                   precision.cwiseProduct(constants_ - expected_);
  const Eigen::VectorXd step = precision_with(slope).llt().solve(gradient);
  if (gradient.dot(step) / 2 < kWorthAStep) return false;
  const auto cost = [&](const Eigen::VectorXd& constants, const Eigen::VectorXd& at) {
    const Eigen::VectorXd left = measured - at;
    return left.dot(rest_.solve(left)) / 2 + precision.dot((constants - expected_).cwiseAbs2()) / 2;
  };
  const double before = cost(constants_, values_);
  for (const double length : {1.0, 0.4, 0.15}) {
    const Eigen::VectorXd there = admit(constants_ + length * step);
    const Eigen::VectorXd at = predict_observed(there);
    if (!(cost(there, at) < before)) continue;
    constants_ = there;
    values_ = at;
    return true;
  }
  return false;
}

void StepSurrogate::simulate_best(const Simulator& by,
                                  const std::vector<Simulated*>& points) const {
  for (Simulated* point : points) {
    if (point->fit != 0) continue;
    point->log_ratio = by.step.log_time_at_least(point->config) - by.default_log_time;
  }
  // Simulates from the most promising point on, until enough times are known and the remaining
  // lower bounds are worse.
  std::vector<Simulated*> order = points;
  std::ranges::stable_sort(order, {}, &Simulated::log_ratio);
  std::vector<double> best;  // heap of the lowest ratios, with the highest of them in front
  double slack = kSlack;
  for (Simulated* point : order) {
    if (point->fit != fits_) {
      const double least = point->log_ratio - (point->fit == 0 ? 0 : slack);
      if (best.size() == kAveragedPoints && least > best.front()) continue;
      const double exact = by.log_ratio(point->config);
      if (point->fit != 0) slack += (2 * std::abs(exact - point->log_ratio) - slack) / kSlackMemory;
      point->log_ratio = exact;
      point->fit = fits_;
    }
    best.push_back(point->log_ratio);
    std::ranges::push_heap(best);
    if (best.size() <= kAveragedPoints) continue;
    std::ranges::pop_heap(best);
    best.pop_back();
  }
}

Belief StepSurrogate::believe(std::span<const UnitPoint> points, int draw_pairs) {
  HOCKET_CHECK(fits_ > 0, "fit first");
  std::vector<Simulated*> simulated;
  for (const UnitPoint& point : points) {
    const auto [at, is_new] = cache_.try_emplace(point);
    if (is_new) at->second.config = model_.config(space_.decode(point));
    simulated.push_back(&at->second);
  }
  const Simulator by = simulator(constants_);
  simulate_best(by, simulated);

  const auto n = static_cast<Eigen::Index>(points.size());
  const double variance = hyper_.discrepancy * hyper_.discrepancy;
  Belief belief{Eigen::VectorXd(n), Eigen::VectorXd(n)};
  Eigen::MatrixXd cross(std::ssize(observations_), n);
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < cross.rows(); ++i) {
      cross(i, j) = variance * kernel(observations_[static_cast<std::size_t>(i)].point,
                                      points[static_cast<std::size_t>(j)]);
    }
    belief.mean[j] = predicted(by, simulated[static_cast<std::size_t>(j)]->log_ratio);
  }
  belief.mean += cross.transpose() * dual_;
  const Eigen::MatrixXd whitened = rest_.matrixL().solve(cross);
  belief.deviation =
      (variance - whitened.colwise().squaredNorm().transpose().array()).max(variance * 1e-4).sqrt();
  average_over_posterior(simulated, draw_pairs, belief);
  return belief;
}

void StepSurrogate::average_over_posterior(const std::vector<Simulated*>& points, int draw_pairs,
                                           Belief& belief) const {
  std::vector<Eigen::Index> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  const auto averaged = std::min(kAveragedPoints, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(averaged),
                    order.end(), [&](Eigen::Index a, Eigen::Index b) {
                      return std::pair(belief.mean[a], a) < std::pair(belief.mean[b], b);
                    });

  // The draws are the same each time, in pairs of opposite sign, so that beliefs change only with
  // the data.
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const Eigen::MatrixXd factor = covariance_.llt().matrixL();
  std::vector<Simulator> draws{simulator(constants_)};
  for (int pair = 0; pair < draw_pairs; ++pair) {
    Eigen::VectorXd direction(constants_.size());
    for (double& value : direction) value = normal(random);
    direction = factor * direction;
    draws.push_back(simulator(admit(constants_ + direction)));
    draws.push_back(simulator(admit(constants_ - direction)));
  }

  double shift = 0, doubt = 0;
  for (std::size_t rank = 0; rank < averaged; ++rank) {
    const Eigen::Index i = order[rank];
    const Simulated& point = *points[static_cast<std::size_t>(i)];
    Eigen::VectorXd values(std::ssize(draws));
    for (std::size_t d = 0; d < draws.size(); ++d) {
      values[static_cast<Eigen::Index>(d)] =
          predicted(draws[d], d == 0 ? point.log_ratio : draws[d].log_ratio(point.config));
    }
    const double mean = values.mean();
    const double variance =
        (values.array() - mean).square().sum() / static_cast<double>(values.size() - 1);
    const double moved = mean - values[0];
    belief.mean[i] += moved;
    belief.deviation[i] = std::sqrt(belief.deviation[i] * belief.deviation[i] + variance);
    shift += moved / static_cast<double>(averaged);
    doubt += variance / static_cast<double>(averaged);
  }
  // The other points are assumed to shift by the average of these.
  for (std::size_t rank = averaged; rank < order.size(); ++rank) {
    const Eigen::Index i = order[rank];
    belief.mean[i] += std::max(0.0, shift);
    belief.deviation[i] = std::sqrt(belief.deviation[i] * belief.deviation[i] + doubt);
  }
}

}  // namespace hocket
