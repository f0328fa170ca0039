#include "tuner/surrogate/feasibility.h"

#include <cmath>

#include "tuner/surrogate/matern_kernel.h"

namespace hocket {
namespace {

constexpr double kLengthScale = 0.2;
/// Weight of the completed prior trial that is added everywhere; small, so that a failure counts at
/// its own point.
constexpr double kPriorTrials = 0.1;

}  // namespace

Feasibility::Feasibility(const Space& space) {
  for (const Parameter& parameter : space.parameters())
    categorical_.push_back(std::holds_alternative<Choices>(parameter.domain));
}

void Feasibility::tell(const UnitPoint& point, bool completed) {
  told_.push_back({point, completed});
  if (!completed) some_failed_ = true;
}

double Feasibility::probability(const UnitPoint& point) const {
  if (!some_failed_) return 1;
  double completed = kPriorTrials, all = kPriorTrials;
  for (const Told& told : told_) {
    const double weight = matern_5_2(unit_distance(point, told.point, categorical_) / kLengthScale);
    all += weight;
    if (told.completed) completed += weight;
  }
  return completed / all;
}

}  // namespace hocket
