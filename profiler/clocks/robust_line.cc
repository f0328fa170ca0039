#include "profiler/clocks/robust_line.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr std::size_t kMostGroups = 256;

/// Replaces groups of neighbours, of equal size, by their medians; `points` are sorted by x.
std::vector<LinePoint> thinned(std::vector<LinePoint> points) {
  if (points.size() <= kMostGroups) return points;
  std::vector<LinePoint> groups;
  for (std::size_t i = 0; i < kMostGroups; ++i) {
    std::vector<double> x, y;
    for (auto j = points.size() * i / kMostGroups; j < points.size() * (i + 1) / kMostGroups; ++j) {
      x.push_back(points[j].x);
      y.push_back(points[j].y);
    }
    groups.push_back({median(std::move(x)), median(std::move(y))});
  }
  return groups;
}

}  // namespace

FittedLine with_slope(const std::vector<LinePoint>& points, double slope) {
  std::vector<double> rests;
  for (const LinePoint& point : points) rests.push_back(point.y - slope * point.x);
  return {median(std::move(rests)), slope};
}

double median_distance(const std::vector<LinePoint>& points, const FittedLine& line) {
  std::vector<double> distances;
  for (const LinePoint& point : points) distances.push_back(std::abs(point.y - line.at(point.x)));
  return median(std::move(distances));
}

FittedLine robust_line(std::vector<LinePoint> points, double most_slope) {
  HOCKET_CHECK(!points.empty(), "a line through something");
  std::sort(points.begin(), points.end(), [](const LinePoint& a, const LinePoint& b) {
    return std::pair(a.x, a.y) < std::pair(b.x, b.y);
  });
  const std::vector<LinePoint> few = thinned(points);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < few.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (few[i].x > few[j].x) slopes.push_back((few[i].y - few[j].y) / (few[i].x - few[j].x));
    }
  }
  const double slope = slopes.empty() ? 0 : median(std::move(slopes));
  return with_slope(points, std::clamp(slope, -most_slope, most_slope));
}

}  // namespace hocket
