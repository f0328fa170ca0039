#include "plugins/nccl/measure/event_mask.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace hocket::nccl::measure {
namespace {

constexpr int kAsked = 2 | 64;
constexpr int kOnlyCounted = 2;

TEST(EventMask, IsTheUnionOfWindowsAndTheChainedProfiler) {
  EventMask mask;
  int nccl = 0;
  mask.attach(&nccl);
  EXPECT_EQ(nccl, kOnlyCounted);
  mask.open_window();
  mask.open_window();
  EXPECT_EQ(nccl, kAsked);
  mask.close_window();
  EXPECT_EQ(nccl, kAsked) << "one window is still open";
  *mask.chained() = 1 | 2 | 8;
  mask.refresh();
  EXPECT_EQ(nccl, kAsked | 1 | 8);
  mask.close_window();
  EXPECT_EQ(nccl, 1 | 2 | 8);
  *mask.chained() = 0;
  mask.refresh();
  EXPECT_EQ(nccl, kOnlyCounted);
}

TEST(EventMask, HasNoCollectivesWhenAllCommunicatorsAreSilent) {
  EventMask mask;
  int nccl = 0;
  mask.attach(&nccl);
  mask.attach(&nccl);
  mask.begin_silence();
  EXPECT_EQ(nccl, kOnlyCounted) << "the other one counts them";
  mask.begin_silence();
  EXPECT_EQ(nccl, 0);
  *mask.chained() = 8;
  mask.refresh();
  EXPECT_EQ(nccl, 8) << "the chained profiler goes on";
  mask.attach(&nccl);
  EXPECT_EQ(nccl, 8 | kOnlyCounted);
  mask.end_silence();
  mask.detach(&nccl);
  EXPECT_EQ(nccl, 8 | kOnlyCounted);
  mask.detach(&nccl);
  EXPECT_EQ(nccl, 8) << "the one that is left is silent";
}

TEST(EventMask, ANewCommunicatorFindsTheOpenWindow) {
  EventMask mask;
  mask.open_window();
  int nccl = 0;
  mask.attach(&nccl);
  EXPECT_EQ(nccl, kAsked);
}

TEST(EventMask, KeepsEachCopyOfNcclUpToDateUntilItsLastUserLeaves) {
  EventMask mask;
  int a = 0, b = 0;
  mask.attach(&a);
  mask.attach(&a);
  mask.attach(&b);
  mask.detach(&a);
  mask.open_window();
  EXPECT_EQ(a, kAsked);
  EXPECT_EQ(b, kAsked);
  mask.close_window();
  mask.detach(&a);
  mask.open_window();
  EXPECT_EQ(a, 0) << "written to after the last user left";
  EXPECT_EQ(b, kAsked);
}

TEST(EventMask, TheLastUserLeavesItWithoutTheEventsOfWindows) {
  EventMask mask;
  int a = 0, b = 0;
  mask.attach(&a);
  mask.attach(&b);
  *mask.chained() = 8;
  mask.open_window();
  EXPECT_EQ(a, kAsked | 8);
  mask.detach(&a);
  EXPECT_EQ(a, 8);
  EXPECT_EQ(b, kAsked | 8);
}

TEST(EventMask, ToleratesNullAndMasksThatItDoesNotKnow) {
  EventMask mask;
  int unknown = 5;
  mask.attach(nullptr);
  mask.detach(nullptr);
  mask.detach(&unknown);
  mask.open_window();
  EXPECT_EQ(unknown, 5);
}

TEST(EventMask, EndsInTheLastStateHoweverThreadsInterleave) {
  EventMask mask;
  int nccl = 0;
  mask.attach(&nccl);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&mask, t] {
        for (int i = 0; i < 20; ++i) {
          mask.open_window();
          if (t != 0 || i < 19) mask.close_window();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(__atomic_load_n(&nccl, __ATOMIC_RELAXED), kAsked);
    mask.close_window();
    ASSERT_EQ(__atomic_load_n(&nccl, __ATOMIC_RELAXED), kOnlyCounted);
  }
}

}  // namespace
}  // namespace hocket::nccl::measure
