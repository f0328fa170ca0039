#pragma once

// Derives the offset and drift of a clock from bounds on its offset at several times, under the
// model offset(x) = offset(0) + drift · x. Pure.
//
// For a given drift the bounds leave an interval of offsets. Its width is a concave function of the
// drift, its lower end a convex one and its upper end a concave one, so dividing intervals finds
// the best, the first and the last drift.

#include <optional>
#include <vector>

namespace hocket {

struct ClockRange {
  double low = 0, high = 0;

  double middle() const { return low + (high - low) / 2; }
  double width() const { return high - low; }
};

class OffsetBounds {
 public:
  /// Requires the offset at time `x` to be within `offsets`.
  void add(double x, ClockRange offsets) { add(ClockRange{x, x}, offsets); }
  /// Requires the offset to be at most `offsets.high` at time `x.low` and at least `offsets.low` at
  /// `x.high`.
  void add(ClockRange x, ClockRange offsets);

  bool empty() const { return bounds_.empty(); }
  /// Returns the width of the narrowest bound. Requires a bound, as do all functions below.
  double least_width() const;

  /// Returns the offsets at `x` that the bounds allow a line of this drift; of negative width if
  /// none.
  ClockRange offsets(double drift, double x = 0) const;

  /// Returns the drift in `limits` that leaves the widest range of offsets.
  double best_drift(ClockRange limits) const;

  /// Returns the drifts in `limits` for which a line lies within all bounds, to a nanosecond.
  std::optional<ClockRange> drifts(ClockRange limits) const;

  /// Returns the offsets at `x` of all lines with a drift in `drifts`. Requires that each of these
  /// drifts allows an offset.
  ClockRange offsets(ClockRange drifts, double x) const;

 private:
  struct Bound {
    ClockRange x, offsets;
  };

  double width(double drift) const { return offsets(drift).width(); }

  std::vector<Bound> bounds_;
};

}  // namespace hocket
