#include "core/scheduler/dispatch/part_counts.h"

#include <gtest/gtest.h>

#include <vector>

namespace hocket {
namespace {

SpecialCollective of_group(CollectiveKind kind, CollectiveGroup group, std::size_t peer = 0) {
  SpecialCollective collective;
  collective.work.kind = kind;
  collective.work.group = group;
  collective.work.peer = peer;
  return collective;
}

TEST(PartCounts, CountThoseOfTheSameRanksTogether) {
  const CollectiveGroup first{AxisSet::of(0)}, second{AxisSet::of(1)};
  using enum CollectiveKind;
  const std::vector<SpecialCollective> of_all{
      of_group(all_reduce, CollectiveGroup::world), of_group(all_reduce, CollectiveGroup::inside),
      of_group(broadcast, CollectiveGroup::world), of_group(all_to_all, CollectiveGroup::world)};
  const std::vector<SpecialCollective> of_some{of_group(all_reduce, first),
                                               of_group(all_reduce, second),
                                               of_group(send, first, 1),
                                               of_group(receive, first, 1),
                                               of_group(send, first, 2),
                                               of_group(send, second, 1),
                                               of_group(send, CollectiveGroup::world, 1)};
  PartCounts counts;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t time = 0; time < 3; ++time) {
      for (const SpecialCollective& each : of_some) EXPECT_EQ(counts.next(&each), time);
      std::uint64_t next = time * (of_all.size() + 1);
      EXPECT_EQ(counts.next(nullptr), next++);
      for (const SpecialCollective& each : of_all) EXPECT_EQ(counts.next(&each), next++);
    }
    counts.restart();
  }
}

TEST(PartCounts, CountAllKindsOfAGroupTogether) {
  const CollectiveGroup group{AxisSet::of(0)};
  PartCounts counts;
  std::uint64_t next = 0;
  for (const auto kind : {CollectiveKind::broadcast, CollectiveKind::all_to_all,
                          CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const SpecialCollective collective = of_group(kind, group);
    EXPECT_EQ(counts.next(&collective), next++);
  }
}

}  // namespace
}  // namespace hocket
