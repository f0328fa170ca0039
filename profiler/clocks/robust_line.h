#pragma once

// A straight line through points of which a quarter may be far off. Pure.

#include <vector>

namespace hocket {

struct Point {
  double x = 0, y = 0;
};

struct Line {
  double at_0 = 0, slope = 0;

  double at(double x) const { return at_0 + slope * x; }
};

/// The slope is the median of those between all pairs (Theil and Sen: Sen, JASA 1968), kept within
/// ±`most_slope`; of many points the medians of neighbours stand for them. at_0 is the median of
/// what the slope leaves. Requires at least one point.
Line robust_line(std::vector<Point> points, double most_slope);

/// The median of |y − line|. Requires at least one point.
double median_distance(const std::vector<Point>& points, const Line& line);

/// The line of that slope from which as many points are above as below.
Line with_slope(const std::vector<Point>& points, double slope);

}  // namespace hocket
