#include "tuner/explain/axis_scale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hocket {
namespace {

constexpr std::size_t kFewScaleTicks = 5, kMostScaleTicks = 10;

}  // namespace

void ValueScale::add(double value) {
  if (!std::isfinite(value)) return;
  low_ = empty_ ? value : std::min(low_, value);
  high_ = empty_ ? value : std::max(high_, value);
  empty_ = false;
}

double ValueScale::place(double value) const {
  const double low = scaled(low_), high = scaled(high_);
  // Halved, since the difference of huge numbers may overflow.
  if (!(high / 2 - low / 2 > 0)) return 0.5;
  const double share = (scaled(value) / 2 - low / 2) / (high / 2 - low / 2);
  return std::clamp(share, 0.0, 1.0);
}

std::vector<double> ValueScale::ticks() const {
  if (!(high_ > low_)) return {low_};
  std::vector<double> ticks;
  const double step = round_step();
  if (is_log() || !(step > 0) || !std::isfinite(step)) {
    for (std::size_t i = 0; i < kFewScaleTicks; ++i) {
      const double share = static_cast<double>(i) / (kFewScaleTicks - 1);
      const double at = scaled(low_) * (1 - share) + scaled(high_) * share;
      ticks.push_back(is_log() ? std::clamp(std::exp(at), low_, high_) : at);
    }
    return ticks;
  }
  for (double k = std::ceil(low_ / step); k * step <= high_ && ticks.size() < kMostScaleTicks; ++k)
    ticks.push_back(k * step + 0.0);
  return ticks;
}

bool ValueScale::is_log() const {
  return low_ > 0 && high_ / low_ > 30;
}

double ValueScale::scaled(double value) const {
  return is_log() ? std::log(std::max(value, low_)) : value;
}

double ValueScale::round_step() const {
  const double least = (high_ - low_) / (kFewScaleTicks + 1);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

}  // namespace hocket
