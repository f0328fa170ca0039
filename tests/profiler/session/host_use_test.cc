#include "profiler/session/host_use.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

TEST(HostUse, ThreadsAddUp) {
  HostUse use;
  EXPECT_TRUE(add_schedstat("100 20 3\n", use));
  EXPECT_TRUE(add_schedstat("50 5 1", use));
  EXPECT_EQ(use.run_ns, 150);
  EXPECT_EQ(use.wait_ns, 25);
  for (const char* text : {"", "x", "12", "-1 2 3", "99999999999999999999 1 1"})
    EXPECT_FALSE(add_schedstat(text, use)) << text;
  EXPECT_FALSE(add_schedstat("9223372036854775807 1 1", use));
}

TEST(HostUse, BusyTimeIsThatOfAllProcessorsWithoutIdleAndInputOutput) {
  HostUse use;
  EXPECT_TRUE(add_stat("cpu  10 1 5 700 30 2 3 4 0 0\ncpu0 1 …\ncpu1 1 …\nintr 5\n", 100, use));
  EXPECT_EQ(use.busy_ns, 250'000'000);
  EXPECT_EQ(use.processors, 2);
  for (const char* text : {"", "cpu ", "cpu 1 2 3", "cpux 1 2 3 4 5 6 7 8", "intr 1"}) {
    HostUse none;
    EXPECT_FALSE(add_stat(text, 100, none)) << text;
  }
}

TEST(HostUse, SharesAreOfTheTimeBetweenTheReadings) {
  const HostUse before{.at_ns = 1000, .run_ns = 500, .wait_ns = 100, .busy_ns = 800};
  const HostUse after{
      .at_ns = 2000, .run_ns = 1100, .wait_ns = 300, .busy_ns = 2200, .processors = 2};
  const auto shares = shares_between(before, after);
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->waiting, 0.25);
  EXPECT_DOUBLE_EQ(shares->others, 0.4);
  EXPECT_FALSE(shares_between(after, before));
  EXPECT_FALSE(shares_between(before, before));
}

TEST(HostUse, ThisProcessHasRun) {
  auto use = read_host_use();
  if (!use) GTEST_SKIP() << "this system does not keep the counters";
  // The kernel counts a thread's time when it next looks at it.
  for (int i = 0; i < 10'000 && use->run_ns == 0; ++i) use = read_host_use();
  if (use->run_ns == 0) GTEST_SKIP() << "this system does not keep the counters";
  EXPECT_GT(use->busy_ns, 0);
  EXPECT_GE(use->processors, 1);
}

}  // namespace
}  // namespace hocket
