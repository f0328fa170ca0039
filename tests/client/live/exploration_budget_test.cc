#include "client/live/exploration_budget.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

/// Random jobs that explore as much as allowed: the cost exceeds the budget by at most the cost of
/// the last window, and was within the budget when that window began.
TEST(ExplorationBudget, IsExceededByAtMostOneWindow) {
  int windows = 0, pauses = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double share = static_cast<double>(random() % 100) / 1000;
    ExplorationBudget budget(share);
    double total = 0, spent = 0;
    for (int turn = 0; turn < 300; ++turn) {
      const auto usual = static_cast<std::int64_t>(900 + random() % 200);
      budget.trained(usual);
      total += static_cast<double>(usual);
      if (!budget.may_start(1000)) {
        pauses += windows > 0;
        continue;
      }
      ASSERT_LE(spent + 1000, share * total + 1e-3);
      ++windows;
      double window = 0;
      for (auto left = random() % 20; left > 0; --left) {
        const auto ns = static_cast<std::int64_t>(500 + random() % 2000);
        budget.explored(ns, 1000);
        total += static_cast<double>(ns);
        window += std::max(static_cast<double>(ns) - 1000, 0.0);
      }
      spent += window;
      ASSERT_LE(spent, share * total + window);
      ASSERT_NEAR(budget.spent(), spent / total, 1e-9);
      ASSERT_NEAR(budget.left_ns(), share * total - spent, 1e-3);
    }
  }
  EXPECT_GT(windows, 500);
  EXPECT_GT(pauses, 1000);
}

TEST(ExplorationBudget, OfNothingIsNeverEnough) {
  ExplorationBudget budget(0);
  budget.trained(1'000'000'000);
  EXPECT_FALSE(budget.may_start(1));
  EXPECT_EQ(budget.spent(), 0);
}

}  // namespace
}  // namespace hocket
