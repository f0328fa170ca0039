#include "plugins/nccl/communicator/plugin_cost.h"

#include <gtest/gtest.h>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(PluginCost, SaysWhatDecisionsGatesAndEventsTook) {
  PluginCost cost(0);
  EXPECT_EQ(cost.line(10, 0, kSecond), "") << "nothing was timed";
  cost.add_decision(40, 64, 0, kSecond);
  cost.add_decision(60, 128, 0, kSecond);
  cost.set_events(true, 2 * kSecond);
  cost.set_events(true, 3 * kSecond);
  cost.set_events(false, 4 * kSecond);
  cost.set_events(true, 19 * kSecond);
  EXPECT_EQ(cost.line(128, 2'500'000, 20 * kSecond),
            "the plugin's cost: 128 decisions of 50 ns, 2.5 ms of waiting at changes, collectives "
            "timed in 15.0 % of 20 s");
}

TEST(PluginCost, TheShareIsThatOfAllDecisionsAndOfTheWaiting) {
  PluginCost cost(5 * kSecond);
  EXPECT_EQ(cost.share_percent(), -1) << "nothing was timed";
  cost.add_decision(50, 64, 0, 6 * kSecond);
  EXPECT_NEAR(cost.share_percent(), 100 * 64 * 50 / 1e9, 1e-9);
  // The two timed ones have a mean of 100 ns, and 10 s have passed.
  cost.add_decision(150, 10'000, 0, 15 * kSecond);
  EXPECT_NEAR(cost.share_percent(), 100 * 10'000 * 100 / 10e9, 1e-9);
  cost.add_decision(100, 10'000, kSecond / 2, 15 * kSecond);
  EXPECT_NEAR(cost.share_percent(), 100 * (10'000 * 100 + 0.5e9) / 10e9, 1e-8);
}

TEST(PluginCost, TheShareIsAtMostTheWhole) {
  PluginCost cost(0);
  cost.add_decision(kSecond, 1'000'000, kSecond, 10);
  EXPECT_EQ(cost.share_percent(), 100);
  cost.add_decision(-5 * kSecond, 1'000'000, 0, 10);
  EXPECT_EQ(cost.share_percent(), 0) << "a clock that jumps";
}

}  // namespace
}  // namespace hocket::nccl
