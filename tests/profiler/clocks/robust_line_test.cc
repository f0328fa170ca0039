#include "profiler/clocks/robust_line.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

TEST(RobustLine, GoesThroughPointsOnALineWhateverAFifthOfThemDoes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> anywhere(-1000, 1000);
    const FittedLine line{anywhere(random), anywhere(random) / 1000};
    std::vector<LinePoint> points(5 + random() % 2000);
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].x = anywhere(random);
      points[i].y = i % 5 == 4 ? anywhere(random) * 1e6 : line.at(points[i].x);
    }
    const bool is_thinned = points.size() > 256;
    const FittedLine found = robust_line(points, 10);
    EXPECT_NEAR(found.slope, line.slope, is_thinned ? 0.05 : 1e-9);
    EXPECT_NEAR(found.at_0, line.at_0, is_thinned ? 50 : 1e-6);
  }
}

TEST(RobustLine, TheSlopeStaysWithinItsLimits) {
  const std::vector<LinePoint> points{{0, 0}, {1, 5}, {2, 10}};
  EXPECT_EQ(robust_line(points, 10).slope, 5);
  EXPECT_EQ(robust_line(points, 2).slope, 2);
  EXPECT_EQ(robust_line(points, 2).at_0, 3) << "as many points above as below";
  EXPECT_EQ(robust_line(points, 0).at_0, 5);
}

TEST(RobustLine, PointsAtOnePlaceHaveNoSlope) {
  const FittedLine line = robust_line({{3, 1}, {3, 2}, {3, 9}}, 10);
  EXPECT_EQ(line.slope, 0);
  EXPECT_EQ(line.at_0, 2);
  EXPECT_EQ(median_distance({{3, 1}, {3, 2}, {3, 9}}, line), 1);
}

}  // namespace
}  // namespace hocket
