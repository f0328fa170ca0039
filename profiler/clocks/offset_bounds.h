#pragma once

// What bounds on a clock's offset at several times say about its offset and drift, when it is a
// straight line: offset(x) = offset(0) + drift · x. Pure.
//
// For one drift the bounds leave an interval of offsets. Its width is a concave function of the
// drift, its lower end a convex one and its upper end a concave one, so that the best, the first
// and the last drift are found by dividing intervals.

#include <optional>
#include <vector>

namespace hocket {

struct Range {
  double low = 0, high = 0;

  double middle() const { return low + (high - low) / 2; }
  double width() const { return high - low; }
};

class OffsetBounds {
 public:
  /// At time `x` the offset is within `offsets`.
  void add(double x, Range offsets) { add(Range{x, x}, offsets); }
  /// At time `x.low` it is at most `offsets.high`, and at `x.high` at least `offsets.low`.
  void add(Range x, Range offsets);

  bool empty() const { return bounds_.empty(); }
  /// Of the narrowest of the bounds. Requires that there are any, as all that follows.
  double least_width() const;

  /// The offsets at `x` that bounds leave a line of this drift: of negative width when none.
  Range offsets(double drift, double x = 0) const;

  /// The drift in `limits` that leaves most.
  double best_drift(Range limits) const;

  /// The drifts in `limits` for which there is a line within all bounds, to a nanosecond.
  std::optional<Range> drifts(Range limits) const;

  /// The offsets at `x` of all lines with a drift in `drifts`, each of which leaves some.
  Range offsets(Range drifts, double x) const;

 private:
  struct Bound {
    Range x, offsets;
  };

  double width(double drift) const { return offsets(drift).width(); }

  std::vector<Bound> bounds_;
};

}  // namespace hocket
