#include "plugins/nccl/control/collective_times.h"

#include <gtest/gtest.h>

namespace hocket::nccl {
namespace {

using measure::MeasuredCollective;

MeasuredCollective collective(std::uint64_t sequence, std::int64_t time_ns, int timed = 2) {
  return {.sequence = sequence,
          .bytes = 1000,
          .time_ns = time_ns,
          .function = abi::kAllReduce,
          .algorithm = abi::kRing,
          .protocol = abi::kSimple,
          .channels = 2,
          .timed_channels = timed};
}

void add(CollectiveTimes& times, int rank, std::vector<MeasuredCollective> collectives) {
  times.add(static_cast<std::uint32_t>(rank), measure::encode({rank, std::move(collectives)}));
}

TEST(CollectiveTimes, ACollectiveTakesTheSmallestTimeOnceAllRanksHaveSentIt) {
  CollectiveTimes times(3);
  add(times, 0, {collective(7, 50), collective(8, 60)});
  add(times, 2, {collective(7, 20), collective(8, 70)});
  EXPECT_TRUE(times.take().empty());
  add(times, 1, {collective(7, 30)});
  const auto taken = times.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].transfer_ns, 20);
  EXPECT_EQ(taken[0].of, class_of(abi::kAllReduce, 1000));
  add(times, 1, {collective(8, 90)});
  ASSERT_EQ(times.take().size(), 1u);
  EXPECT_TRUE(times.take().empty());
}

TEST(CollectiveTimes, AnIncompleteTimeIsNone) {
  CollectiveTimes times(2);
  add(times, 0, {collective(7, 50)});
  add(times, 1, {collective(7, 20, 1)});
  EXPECT_TRUE(times.take().empty());
}

TEST(CollectiveTimes, BytesOfAnotherFormOrRankAreIgnored) {
  CollectiveTimes times(1);
  times.add(0, "HM?");
  times.add(0, measure::encode({1, {collective(7, 50)}}));
  EXPECT_TRUE(times.take().empty());
  EXPECT_TRUE(times.take_all().empty());
}

TEST(CollectiveTimes, AllIsWhatCameSince) {
  CollectiveTimes times(2);
  for (int rank = 0; rank < 2; ++rank) {
    add(times, rank, {collective(7, 10 + rank)});
    add(times, rank, {collective(8, 20 + rank)});
  }
  const auto all = times.take_all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].rank, 1);
  ASSERT_EQ(all[1].collectives.size(), 2u);
  EXPECT_EQ(all[1].collectives[1].time_ns, 21);
  EXPECT_TRUE(times.take_all().empty());
}

}  // namespace
}  // namespace hocket::nccl
