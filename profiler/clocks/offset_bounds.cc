#include "profiler/clocks/offset_bounds.h"

#include <algorithm>
#include <limits>

namespace hocket {
namespace {

constexpr int kDivisions = 80;
constexpr double kToleranceNs = 1;

/// Returns the point in `range` at which the concave `f` is largest.
template <class F>
double argmax(ClockRange range, F f) {
  for (int i = 0; i < kDivisions; ++i) {
    const double third = range.width() / 3;
    const double a = range.low + third, b = range.high - third;
    if (f(a) < f(b)) {
      range.low = a;
    } else {
      range.high = b;
    }
  }
  return range.middle();
}

/// Returns the last point on the way from `in` to `out` for which `holds` is true.
template <class Holds>
double last_where(double in, double out, Holds holds) {
  if (holds(out)) return out;
  for (int i = 0; i < kDivisions; ++i) {
    const double between = in + (out - in) / 2;
    (holds(between) ? in : out) = between;
  }
  return in;
}

}  // namespace

void OffsetBounds::add(ClockRange x, ClockRange offsets) {
  bounds_.push_back({x, offsets});
}

double OffsetBounds::least_width() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Bound& bound : bounds_) least = std::min(least, bound.offsets.width());
  return least;
}

ClockRange OffsetBounds::offsets(double drift, double x) const {
  ClockRange left{-std::numeric_limits<double>::infinity(),
                  std::numeric_limits<double>::infinity()};
  for (const Bound& bound : bounds_) {
    left.low = std::max(left.low, bound.offsets.low - drift * (bound.x.high - x));
    left.high = std::min(left.high, bound.offsets.high - drift * (bound.x.low - x));
  }
  return left;
}

double OffsetBounds::best_drift(ClockRange limits) const {
  return argmax(limits, [&](double drift) { return width(drift); });
}

std::optional<ClockRange> OffsetBounds::drifts(ClockRange limits) const {
  const auto leaves_some = [&](double drift) { return width(drift) >= -kToleranceNs; };
  const double best = best_drift(limits);
  if (!leaves_some(best)) return std::nullopt;
  return ClockRange{last_where(best, limits.low, leaves_some),
                    last_where(best, limits.high, leaves_some)};
}

ClockRange OffsetBounds::offsets(ClockRange drifts, double x) const {
  const auto high = [&](double drift) { return offsets(drift, x).high; };
  const auto low = [&](double drift) { return offsets(drift, x).low; };
  const double most = high(argmax(drifts, high));
  const double least = low(argmax(drifts, [&](double drift) { return -low(drift); }));
  return {std::min(least, most), std::max(least, most)};
}

}  // namespace hocket
