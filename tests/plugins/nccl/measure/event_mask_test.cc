#include "plugins/nccl/measure/event_mask.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace hocket::nccl::measure {
namespace {

constexpr int kAllOwn = 2 | 64;
constexpr int kOnlyCounted = 2;

TEST(EventMask, IsTheUnionOfWhatCommunicatorsAndTheChainedProfilerWant) {
  EventMask mask;
  int nccl = 0;
  mask.attach(&nccl);
  EXPECT_EQ(nccl, 0) << "nobody has asked";
  mask.change(Events::none, Events::timed);
  mask.change(Events::none, Events::timed);
  EXPECT_EQ(nccl, kAllOwn);
  mask.change(Events::timed, Events::counted);
  EXPECT_EQ(nccl, kAllOwn) << "one is still timed";
  *mask.chained() = 1 | 2 | 8;
  mask.refresh();
  EXPECT_EQ(nccl, kAllOwn | 1 | 8);
  mask.change(Events::timed, Events::none);
  EXPECT_EQ(nccl, 1 | 2 | 8);
  *mask.chained() = 0;
  mask.refresh();
  EXPECT_EQ(nccl, kOnlyCounted) << "the other one is counted";
  mask.change(Events::counted, Events::counted);
  EXPECT_EQ(nccl, kOnlyCounted);
  mask.change(Events::counted, Events::asked);
  EXPECT_EQ(nccl, kOnlyCounted);
  mask.change(Events::asked, Events::none);
  EXPECT_EQ(nccl, 0);
}

TEST(EventMask, ANewCommunicatorFindsWhatOthersAskFor) {
  EventMask mask;
  mask.change(Events::none, Events::timed);
  int nccl = 0;
  mask.attach(&nccl);
  EXPECT_EQ(nccl, kAllOwn);
}

TEST(EventMask, KeepsEachCopyOfNcclUpToDateUntilItsLastUserLeaves) {
  EventMask mask;
  int a = 0, b = 0;
  mask.attach(&a);
  mask.attach(&a);
  mask.attach(&b);
  mask.detach(&a);
  mask.change(Events::none, Events::timed);
  EXPECT_EQ(a, kAllOwn);
  EXPECT_EQ(b, kAllOwn);
  mask.change(Events::timed, Events::none);
  mask.detach(&a);
  mask.change(Events::none, Events::timed);
  EXPECT_EQ(a, 0) << "written to after the last user left";
  EXPECT_EQ(b, kAllOwn);
}

TEST(EventMask, TheLastUserLeavesItWithoutOwnEvents) {
  EventMask mask;
  int a = 0, b = 0;
  mask.attach(&a);
  mask.attach(&b);
  *mask.chained() = 8;
  mask.change(Events::none, Events::timed);
  EXPECT_EQ(a, kAllOwn | 8);
  mask.detach(&a);
  EXPECT_EQ(a, 8);
  EXPECT_EQ(b, kAllOwn | 8);
}

TEST(EventMask, ToleratesNullAndMasksThatItDoesNotKnow) {
  EventMask mask;
  int unknown = 5;
  mask.attach(nullptr);
  mask.detach(nullptr);
  mask.detach(&unknown);
  mask.change(Events::none, Events::timed);
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
          mask.change(Events::none, Events::timed);
          if (t != 0 || i < 19) mask.change(Events::timed, Events::none);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(__atomic_load_n(&nccl, __ATOMIC_RELAXED), kAllOwn);
    mask.change(Events::timed, Events::none);
    ASSERT_EQ(__atomic_load_n(&nccl, __ATOMIC_RELAXED), 0);
  }
}

}  // namespace
}  // namespace hocket::nccl::measure
