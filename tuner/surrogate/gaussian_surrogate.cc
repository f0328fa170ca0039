#include "tuner/surrogate/gaussian_surrogate.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Number of the lowest measurements that are always among those kept.
constexpr std::size_t kKept = GaussianSurrogate::kMostKept, kLowestKept = 64;
/// Upper bound on the known noise variance of a standardised value; at this size the value carries
/// almost no information.
constexpr double kMostNoise = 100;

Eigen::MatrixXd rows(std::span<const UnitPoint> points) {
  const auto dimensions = static_cast<Eigen::Index>(points.front().size());
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(points.size()), dimensions);
  for (std::size_t i = 0; i < points.size(); ++i) {
    matrix.row(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXd>(points[i].data(), dimensions);
  }
  return matrix;
}

/// Returns the indices of `values` to keep: all, or the lowest and some of the others, evenly by
/// rank.
std::vector<std::size_t> kept(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= kKept) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  const std::size_t others = order.size() - kLowestKept, kept_others = kKept - kLowestKept;
  for (std::size_t i = 0; i < kept_others; ++i)
    order[kLowestKept + i] = order[kLowestKept + i * others / kept_others];
  order.resize(kKept);
  std::ranges::sort(order);
  return order;
}

}  // namespace

std::vector<double> half_rank_warped(std::vector<double> values) {
  if (values.size() < 3) return values;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const double middle = median(values);
  // Uses the better half alone, as if the worse half were its mirror image.
  double squares = 0;
  std::size_t better = 0;
  for (const double value : sorted) {
    if (value > middle) continue;
    squares += (middle - value) * (middle - value);
    ++better;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(better));
  if (!(deviation > 0) || !std::isfinite(deviation)) return values;
  const boost::math::normal normal;
  for (double& value : values) {
    if (value <= middle) continue;
    // Equal values get the mean of the ranks that they share.
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const double rank =
        (static_cast<double>(first - sorted.begin()) + static_cast<double>(last - sorted.begin())) /
        2 / static_cast<double>(sorted.size());
    value = middle + deviation * std::max(0.0, boost::math::quantile(normal, rank));
  }
  return values;
}

GaussianSurrogate::GaussianSurrogate(const Space& space, ValueWarp warp) : warp_(warp) {
  for (const auto& parameter : space.parameters())
    categorical_.push_back(std::holds_alternative<Choices>(parameter.domain));
}

void GaussianSurrogate::fit(std::span<const Observation> told,
                            std::span<const Observation> pending) {
  HOCKET_CHECK(!told.empty(), "nothing to learn from");
  std::vector<double> told_values;
  for (const Observation& observation : told) told_values.push_back(observation.value);
  std::vector<const Observation*> observations;
  for (const std::size_t i : kept(told_values)) observations.push_back(&told[i]);
  for (const Observation& observation : pending) observations.push_back(&observation);
  std::vector<UnitPoint> points;
  std::vector<double> values, errors;
  for (const Observation* observation : observations) {
    points.push_back(observation->point);
    values.push_back(observation->value);
    errors.push_back(observation->standard_error);
  }
  if (warp_ == ValueWarp::worse_half) values = half_rank_warped(std::move(values));
  // Scaled first, so that sums of huge values stay finite.
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) largest = 1;
  for (double& value : values) value /= largest;
  const double centre = mean(values);
  double deviation = standard_deviation(values);
  if (!(deviation > 1e-14)) deviation = 1;
  for (double& value : values) value = (value - centre) / deviation;
  centre_ = centre * largest;
  scale_ = deviation * largest;
  const auto vector = [](const std::vector<double>& numbers) {
    return Eigen::Map<const Eigen::VectorXd>(numbers.data(), std::ssize(numbers));
  };
  const Eigen::VectorXd noise = (vector(errors) / scale_).cwiseAbs2().cwiseMin(kMostNoise);
  process_ = GaussianProcess::fit(rows(points), vector(values), noise, categorical_);
}

Belief GaussianSurrogate::believe(std::span<const UnitPoint> points) {
  HOCKET_CHECK(process_.has_value(), "fit first");
  auto [mean, deviation] = process_->predict(rows(points));
  return {(mean.array() * scale_ + centre_).matrix(), deviation * scale_};
}

Eigen::MatrixXd GaussianSurrogate::leave_one_out() const {
  HOCKET_CHECK(process_.has_value(), "fit first");
  return (process_->leave_one_out().array() * scale_ + centre_).matrix();
}

double GaussianSurrogate::noise() const {
  HOCKET_CHECK(process_.has_value(), "fit first");
  return std::sqrt(process_->hyperparameters().noise_variance) * scale_;
}

}  // namespace hocket
