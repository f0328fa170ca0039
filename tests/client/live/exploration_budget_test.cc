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
        window += static_cast<double>(ns) - 1000;
        ASSERT_NEAR(budget.left_ns(), share * total - spent - std::max(window, 0.0), 1e-3);
      }
      window = std::max(window, 0.0);
      budget.window_ended();
      spent += window;
      ASSERT_LE(spent, share * total + window);
      ASSERT_NEAR(budget.spent(), spent / total, 1e-9);
      ASSERT_NEAR(budget.left_ns(), share * total - spent, 1e-3);
    }
  }
  EXPECT_GT(windows, 500);
  EXPECT_GT(pauses, 1000);
}

TEST(ExplorationBudget, NoiseAroundTheUsualTimeCostsNextToNothing) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> time(1e8, 5e6);
  ExplorationBudget budget(0.01);
  for (int window = 0; window < 50; ++window) {
    for (int i = 0; i < 100; ++i) budget.explored(static_cast<std::int64_t>(time(random)), 1e8);
    budget.window_ended();
  }
  EXPECT_LT(budget.spent(), 0.004);
}

TEST(ExplorationBudget, WhatAFasterCandidateGainsPaysForNoOther) {
  ExplorationBudget budget(0.1);
  for (int i = 0; i < 10; ++i) budget.explored(500, 1000);
  budget.window_ended();
  for (int i = 0; i < 10; ++i) budget.explored(1500, 1000);
  EXPECT_DOUBLE_EQ(budget.spent(), 0.25);
  EXPECT_FALSE(budget.may_start(1));
}

TEST(ExplorationBudget, OfNothingIsNeverEnough) {
  ExplorationBudget budget(0);
  budget.trained(1'000'000'000);
  EXPECT_FALSE(budget.may_start(1));
  EXPECT_EQ(budget.spent(), 0);
}

}  // namespace
}  // namespace hocket
