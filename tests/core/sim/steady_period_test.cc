#include "core/sim/steady_period.h"

#include <gtest/gtest.h>

#include <vector>

namespace hocket {
namespace {

std::optional<std::size_t> cycle(const std::vector<std::int64_t>& periods_ns) {
  std::vector<FinishedIteration> iterations;
  for (const std::int64_t period_ns : periods_ns) iterations.push_back({period_ns, 7});
  return steady_cycle(iterations, 10);
}

TEST(SteadyPeriod, IsSteadyWhenTheSameThreeTimes) {
  EXPECT_FALSE(cycle({}));
  EXPECT_FALSE(cycle({100, 100}));
  EXPECT_EQ(cycle({500, 100, 101, 100}), 1u);
  EXPECT_FALSE(cycle({100, 100, 105}));
}

TEST(SteadyPeriod, FindsShortCycles) {
  EXPECT_EQ(cycle({9, 100, 200, 100, 200, 100, 200}), 2u);
  EXPECT_EQ(cycle({1, 20, 300, 1, 20, 300, 1, 20, 300}), 3u);
  EXPECT_FALSE(cycle({100, 200, 100, 200, 100, 300}));
}

TEST(SteadyPeriod, IsNotSteadyWhileSomethingCatchesUp) {
  const std::vector<FinishedIteration> catching_up{{100, 500}, {100, 470}, {100, 440}};
  EXPECT_FALSE(steady_cycle(catching_up, 10));
  const std::vector<FinishedIteration> settled{{100, 440}, {100, 450}, {100, 440}};
  EXPECT_EQ(steady_cycle(settled, 10), 1u) << "within rounding";
}

}  // namespace
}  // namespace hocket
