#pragma once

// Fits a straight line through points of which up to a quarter may be outliers. Pure.

#include <vector>

namespace hocket {

struct LinePoint {
  double x = 0, y = 0;
};

struct FittedLine {
  double at_0 = 0, slope = 0;

  double at(double x) const { return at_0 + slope * x; }
};

/// Fits a line. Its slope is the median of the slopes of all pairs (Theil and Sen: Sen, JASA 1968),
/// kept within ±`most_slope`; of many points, medians of neighbours represent them. at_0 is the
/// median of y − slope · x. Requires at least one point.
FittedLine robust_line(std::vector<LinePoint> points, double most_slope);

/// Returns the median of |y − line|. Requires at least one point.
double median_distance(const std::vector<LinePoint>& points, const FittedLine& line);

/// Returns the line of that slope with as many points above as below.
FittedLine with_slope(const std::vector<LinePoint>& points, double slope);

}  // namespace hocket
