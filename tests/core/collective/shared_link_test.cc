#include "core/collective/shared_link.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

TEST(SharedLink, OneTransferTakesItsOwnTime) {
  SharedLink link;
  EXPECT_FALSE(link.next_end());
  link.begin(7, 1000, 50);
  ASSERT_TRUE(link.next_end());
  EXPECT_EQ(link.next_end()->time_ns, 1050);
  EXPECT_EQ(link.next_end()->transfer, 7u);
  link.end_next(1050);
  EXPECT_FALSE(link.next_end());
}

TEST(SharedLink, TwoTransfersShareWhileBothAreThere) {
  SharedLink link;
  link.begin(1, 1000, 0);
  link.begin(2, 1000, 500);
  // Half of the first transfer is done; the other half takes twice as long.
  EXPECT_EQ(link.next_end()->transfer, 1u);
  EXPECT_EQ(link.next_end()->time_ns, 1500);
  link.end_next(1500);
  EXPECT_EQ(link.next_end()->transfer, 2u);
  EXPECT_EQ(link.next_end()->time_ns, 2000);
}

TEST(SharedLink, WhatIsSplitIsNotShared) {
  SharedLink link(4, 0.5);
  link.begin(1, 1000, 0);
  EXPECT_EQ(link.next_end()->time_ns, 2500) << "1 + 3 / 2";
  link.begin(2, 1000, 1250);
  EXPECT_EQ(link.next_end()->time_ns, 1250 + 1500) << "half is left, at 2 + 2 / 2";
}

TEST(SharedLink, IsBusyForTheSumOfItsWorkWhateverTheOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SharedLink link;
    double work_ns = 0;
    std::int64_t now_ns = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const auto work = static_cast<double>(1 + random() % 10'000);
      link.begin(i, work, now_ns);
      work_ns += work;
      // Some transfers end before the next begins, but the link never becomes idle.
      while (link.next_end() && random() % 3 == 0) {
        const auto end = *link.next_end();
        link.end_next(end.time_ns);
        now_ns = end.time_ns;
        if (!link.next_end()) link.begin(1000 + i, work, now_ns), work_ns += work;
      }
    }
    while (const auto end = link.next_end()) {
      ASSERT_GE(end->time_ns, now_ns);
      now_ns = end->time_ns;
      link.end_next(now_ns);
    }
    ASSERT_NEAR(static_cast<double>(now_ns), work_ns, 300) << "rounded to a nanosecond an end";
  }
}

}  // namespace
}  // namespace hocket
