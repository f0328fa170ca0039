#include "tuner/surrogate/feasibility.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

Space line() {
  return Space::make({{"x", RealRange{0, 1, false}, 0.5}}).value();
}

TEST(Feasibility, IsCertainWhileNothingFailed) {
  const Space space = line();
  Feasibility feasibility(space);
  EXPECT_EQ(feasibility.probability({0.3}), 1);
  feasibility.tell({0.3}, true);
  EXPECT_EQ(feasibility.probability({0.3}), 1);
}

TEST(Feasibility, IsLowWhereTrialsFailedAndHighWhereTheyCompleted) {
  const Space space = line();
  Feasibility feasibility(space);
  for (const double x : {0.7, 0.8, 0.9}) feasibility.tell({x}, false);
  for (const double x : {0.1, 0.2, 0.3}) feasibility.tell({x}, true);
  EXPECT_LT(feasibility.probability({0.85}), 0.2);
  EXPECT_GT(feasibility.probability({0.15}), 0.8);
  for (double x = 0.2; x < 0.8; x += 0.05) {
    EXPECT_GE(feasibility.probability({x}) + 1e-12, feasibility.probability({x + 0.05}));
  }
}

}  // namespace
}  // namespace hocket
