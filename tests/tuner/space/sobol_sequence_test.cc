#include "tuner/space/sobol_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/tuner/random_space.h"
#include "tuner/search/initial_design.h"

namespace hocket {
namespace {

TEST(Sobol, FillsTheCubeEvenly) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::map<std::pair<int, int>, int> cells;
    for (const auto& point : sobol_points(2, 0, 256, seed)) {
      ASSERT_GE(*std::min_element(point.begin(), point.end()), 0);
      ASSERT_LT(*std::max_element(point.begin(), point.end()), 1);
      ++cells[{static_cast<int>(point[0] * 4), static_cast<int>(point[1] * 4)}];
    }
    // Independent points would leave 16 ± 4 per cell, with some cell far outside that range.
    ASSERT_EQ(cells.size(), 16u);
    for (const auto& [cell, count] : cells) ASSERT_NEAR(count, 16, 6);
  }
}

TEST(Sobol, AnyStretchIsPartOfOneSequence) {
  const auto all = sobol_points(5, 0, 20, 7);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(sobol_points(5, i, 1, 7).front(), all[i]);
  EXPECT_NE(sobol_points(5, 0, 20, 8), all);
}

TEST(Sobol, TakesAsManyDimensionsAsASpace) {
  EXPECT_EQ(sobol_points(Space::kMaxParameters, 1000, 1, 0).front().size(), Space::kMaxParameters);
}

}  // namespace
}  // namespace hocket
