#include "tuner/surrogate/step_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Steps of less weight are not asked, since each costs as many simulations as the likeliest.
constexpr double kLeastWeight = 0.02;
/// Steps of less weight are left out for good, once there are so many measurements (Occam's window;
/// Madigan & Raftery, J. Am. Stat. Assoc. 1994).
constexpr double kHopelessWeight = 1e-3;
constexpr std::size_t kEnoughMeasurements = 6;

constexpr double kLeftOut = -std::numeric_limits<double>::infinity();

}  // namespace

StepMixture::StepMixture(const Space& space, std::vector<PossibleStep> possible)
    : expected_(std::ssize(possible)) {
  HOCKET_CHECK(!possible.empty(), "a mixture has a step");
  steps_.reserve(possible.size());
  for (PossibleStep& step : possible) {
    expected_[std::ssize(steps_)] = std::log(step.probability);
    steps_.emplace_back(space, std::move(step.model));
  }
  weights_ = expected_.array().exp();
}

const StepSurrogate& StepMixture::likeliest() const {
  Eigen::Index at = 0;
  weights_.maxCoeff(&at);
  return steps_[static_cast<std::size_t>(at)];
}

void StepMixture::fit(std::span<const Observation> told, std::span<const Observation> pending) {
  // One measurement at a time, so that what is left out depends only on their sequence.
  for (; told_ < told.size(); ++told_) weigh(told.first(told_ + 1), {});
  weigh(told, pending);
  weights_ = (weights_.array() < kLeastWeight).select(0, weights_);
  weights_ /= weights_.sum();
}

void StepMixture::weigh(std::span<const Observation> told, std::span<const Observation> pending) {
  weights_ = expected_;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (expected_[static_cast<Eigen::Index>(i)] == kLeftOut) continue;
    steps_[i].fit(told, pending);
    weights_[static_cast<Eigen::Index>(i)] += steps_[i].log_evidence();
    if (i == 0 && !steps_[i].is_doubted()) {
      weights_ = Eigen::VectorXd::Unit(weights_.size(), 0);
      return;
    }
  }
  weights_ = (weights_.array() - weights_.maxCoeff()).exp();
  weights_ /= weights_.sum();
  if (told.size() >= kEnoughMeasurements)
    expected_ = (weights_.array() < kHopelessWeight).select(kLeftOut, expected_);
}

Belief StepMixture::believe(std::span<const UnitPoint> points) {
  const auto n = std::ssize(points);
  Belief mixed{Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
  std::vector<std::pair<double, Belief>> beliefs;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double weight = weights_[static_cast<Eigen::Index>(i)];
    if (weight == 0) continue;
    const int draw_pairs = std::max(1, static_cast<int>(weight * StepSurrogate::kDrawPairs));
    beliefs.emplace_back(weight, steps_[i].believe(points, draw_pairs));
    mixed.mean += weight * beliefs.back().second.mean;
  }
  for (const auto& [weight, belief] : beliefs) {
    mixed.deviation +=
        weight * (belief.deviation.cwiseAbs2() + (belief.mean - mixed.mean).cwiseAbs2());
  }
  mixed.deviation = mixed.deviation.cwiseSqrt();
  return mixed;
}

}  // namespace hocket
