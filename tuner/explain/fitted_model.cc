#include "tuner/explain/fitted_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace hocket {
namespace {

/// Bounds the memory of a call.
constexpr std::size_t kBelievedAtOnce = 1024;

}  // namespace

Belief FittedModel::believe(const std::vector<UnitPoint>& points) const {
  const auto size = static_cast<Eigen::Index>(points.size());
  Belief all{Eigen::VectorXd(size), Eigen::VectorXd(size)};
  const std::lock_guard lock(mutex_);
  for (std::size_t first = 0; first < points.size(); first += kBelievedAtOnce) {
    const std::size_t count = std::min(kBelievedAtOnce, points.size() - first);
    const Belief some = surrogate_->believe(std::span(points).subspan(first, count));
    all.mean.segment(static_cast<Eigen::Index>(first), some.mean.size()) = some.mean;
    all.deviation.segment(static_cast<Eigen::Index>(first), some.mean.size()) = some.deviation;
  }
  return all;
}

double FittedModel::on_scale(double modelled) const {
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(is_relative_ ? std::exp(modelled) : modelled, -kMost, kMost);
}

std::vector<ParameterValue> values_along(const Domain& domain, std::size_t most) {
  std::vector<ParameterValue> values;
  if (value_count(domain) <= most) {
    for (std::uint64_t i = 0; i < value_count(domain); ++i) values.push_back(value_at(domain, i));
    return values;
  }
  for (std::size_t i = 0; i < most; ++i) {
    const double unit = static_cast<double>(i) / static_cast<double>(most - 1);
    ParameterValue value = decode(domain, unit);
    if (values.empty() || values.back() != value) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace hocket
