#include "tuner/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/check.h"
#include "tuner/acquisition.h"
#include "tuner/gaussian_process.h"
#include "tuner/statistics.h"

namespace hocket {
namespace {

/// Best observed points from which the acquisition is climbed as well.
constexpr std::size_t kKnownStarts = 2;

Eigen::MatrixXd rows(std::span<const UnitPoint> points) {
  const auto dimensions = static_cast<Eigen::Index>(points.front().size());
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(points.size()), dimensions);
  for (std::size_t i = 0; i < points.size(); ++i) {
    matrix.row(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXd>(points[i].data(), dimensions);
  }
  return matrix;
}

/// Mean 0 and standard deviation 1; zeros where all values are equal.
void standardise(std::vector<double>& values) {
  // Scaled first, so that sums of huge values stay finite.
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return;
  for (double& value : values) value /= largest;
  const double centre = mean(values);
  const double deviation = standard_deviation(values);
  for (double& value : values) value = deviation > 1e-14 ? (value - centre) / deviation : 0;
}

}  // namespace

Optimizer::Optimizer(Space space, std::uint64_t seed)
    : space_(std::move(space)), seed_(seed), design_(space_, seed), candidates_(space_) {}

std::optional<Params> Optimizer::ask() {
  if (asked_.size() >= space_.size()) return std::nullopt;
  const bool has_value = std::any_of(observations_.begin(), observations_.end(),
                                     [](const Observation& o) { return o.value.has_value(); });
  auto params = has_value && asked_.size() >= design_.size() ? next_of_model() : next_of_design();
  if (params) asked_.insert(*params);
  return params;
}

Result<void> Optimizer::tell(const Params& params, double value) {
  if (!std::isfinite(value)) {
    return failure(ErrorCode::invalid_argument, "expected a finite value, found " + to_text(value));
  }
  return record(params, value);
}

Result<void> Optimizer::tell_failure(const Params& params) {
  return record(params, std::nullopt);
}

Result<void> Optimizer::record(const Params& params, std::optional<double> value) {
  const auto admitted = space_.admit(params);
  if (!admitted) return failure(admitted.error());
  asked_.insert(*admitted);
  observations_.push_back({space_.encode(*admitted), value});
  return {};
}

Params Optimizer::first_unasked() const {
  // One of the first asked_.size() + 1 points is new, so no larger space is ever walked through.
  for (std::uint64_t index = 0;; ++index) {
    Params params = space_.point_at(index);
    if (!asked_.contains(params)) return params;
  }
}

std::optional<Params> Optimizer::next_of_design() const {
  // Coarse spaces repeat points; after this many the rest is better found by counting.
  const std::uint64_t limit = asked_.size() + 256;
  for (std::uint64_t index = 0; index < limit; ++index) {
    Params params = design_.point(index);
    if (!asked_.contains(params)) return params;
  }
  // A real range with no other number left in it counts as endless all the same.
  if (space_.size() == UINT64_MAX) return std::nullopt;
  return first_unasked();
}

std::vector<double> Optimizer::modelled_values() const {
  const bool positive = std::all_of(observations_.begin(), observations_.end(),
                                    [](const Observation& o) { return !o.value || *o.value > 0; });
  const auto scaled = [&](double value) { return positive ? std::log(value) : value; };
  double worst = std::numeric_limits<double>::lowest();
  for (const auto& observation : observations_) {
    if (observation.value) worst = std::max(worst, scaled(*observation.value));
  }
  std::vector<double> values;
  for (const auto& observation : observations_) {
    values.push_back(observation.value ? scaled(*observation.value) : worst);
  }
  standardise(values);
  return values;
}

std::optional<Params> Optimizer::next_of_model() const {
  std::vector<bool> categorical;
  for (const auto& parameter : space_.parameters()) {
    categorical.push_back(std::holds_alternative<Choices>(parameter.domain));
  }
  std::vector<UnitPoint> points;
  for (const auto& observation : observations_) points.push_back(observation.point);
  const auto values = modelled_values();
  const auto process = GaussianProcess::fit(
      rows(points),
      Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size())),
      std::move(categorical));

  // The incumbent is what the model believes, not the luckiest sample.
  const Eigen::VectorXd believed = process.predict(rows(points)).mean;
  const double best = believed.minCoeff();
  const auto score = [&](std::span<const UnitPoint> candidates) {
    const auto [mean, deviation] = process.predict(rows(candidates));
    std::vector<double> scores;
    for (Eigen::Index i = 0; i < mean.size(); ++i) {
      scores.push_back(log_expected_improvement(mean[i], deviation[i], best));
    }
    return scores;
  };
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return believed[static_cast<Eigen::Index>(a)] < believed[static_cast<Eigen::Index>(b)];
  });
  std::vector<UnitPoint> known;
  for (std::size_t i = 0; i < std::min(kKnownStarts, order.size()); ++i) {
    known.push_back(points[order[i]]);
  }
  for (const auto& point : candidates_.ranked(score, known, seed_ + asked_.size())) {
    Params params = space_.decode(point);
    if (!asked_.contains(params)) return params;
  }
  return next_of_design();
}

}  // namespace hocket
