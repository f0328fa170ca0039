// Ranks that share emulated links, against times that follow from the links.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/core/host/emulated_ranks.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::Each;
using testing::ElementsAre;
using enum CollectiveKind;
using Begun = EmulatedRanks::Begun;

// A byte takes 1 ns between hosts and 1/4 ns inside.
constexpr LinkSpec kNetwork{.bytes_per_second = 1e9, .latency_ns = 1000};
constexpr LinkSpec kInside{.bytes_per_second = 4e9, .latency_ns = 100};
constexpr std::size_t kValues = 250'000;  // 1 MB, 1 ms between hosts

std::vector<float>& values() {
  static std::vector<float> all(4 * kValues);
  return all;
}

CollectiveWork work(CollectiveKind kind, CollectiveGroup group, std::size_t count,
                    std::uint64_t index = 0, std::size_t peer = 0) {
  return {.kind = kind,
          .group = group,
          .values = std::span(values()).first(count),
          .index = index,
          .peer = peer};
}

/// Four ranks on two hosts, with an axis between the hosts and one inside.
Mesh two_by_two() {
  return Mesh::make({{"data", 2}, {"tensor", 2}}, RankGrid{4, 2}).value();
}
CollectiveGroup data_group() {
  return two_by_two().parse_group("data").value();
}
CollectiveGroup tensor_group() {
  return two_by_two().parse_group("tensor").value();
}

/// Runs them on two hosts of two ranks.
std::vector<std::int64_t> ends_of(const std::vector<Begun>& all) {
  return EmulatedRanks(two_by_two(), kNetwork, kInside).run(all);
}

TEST(EmulatedSharing, AGroupAloneHasTheWholeLinkOfItsHosts) {
  // The other ranks of the hosts are idle. All of 1 MB in two rounds of half of it.
  EXPECT_THAT(ends_of({{0, 0, work(all_reduce, data_group(), kValues)},
                       {2, 7000, work(all_reduce, data_group(), kValues)}}),
              Each(7000 + 1'000'000 + 2 * 1000));
}

TEST(EmulatedSharing, ARingIsOnTheLinksFromItsFirstTransferOnAndABroadcastFromItsLast) {
  for (const auto& [kind, end_ns] :
       {std::pair(all_reduce, 1'002'000), std::pair(broadcast, 1'501'000)}) {
    EmulatedRanks ranks(two_by_two(), kNetwork, kInside);
    ranks.transfer_ns = [](const CollectiveWork&, int rank) { return rank == 2 ? 500'000 : 0; };
    EXPECT_THAT(ranks.run({{0, 0, work(kind, data_group(), kValues)},
                           {2, 0, work(kind, data_group(), kValues)}}),
                Each(end_ns));
  }
}

TEST(EmulatedSharing, TwoGroupsOfAHostShareItsLink) {
  // Ranks 0 and 2, 1 and 3.
  EXPECT_THAT(ends_of({{0, 0, work(all_reduce, data_group(), kValues)},
                       {2, 0, work(all_reduce, data_group(), kValues)},
                       {1, 0, work(all_reduce, data_group(), kValues)},
                       {3, 0, work(all_reduce, data_group(), kValues)}}),
              Each(2'000'000 + 2 * 1000));
}

TEST(EmulatedSharing, AGroupWithFewerBytesLeavesTheLinkToTheOther) {
  EXPECT_THAT(ends_of({{0, 0, work(all_reduce, data_group(), 3 * kValues)},
                       {2, 0, work(all_reduce, data_group(), 3 * kValues)},
                       {1, 0, work(all_reduce, data_group(), kValues)},
                       {3, 0, work(all_reduce, data_group(), kValues)}}),
              ElementsAre(4'002'000, 4'002'000, 2'002'000, 2'002'000));
}

TEST(EmulatedSharing, AMessageSharesTheWayOutOfItsHostWithAGroup) {
  // Rank 1 sends to rank 3. Each way of a host carries the group and the message.
  EXPECT_THAT(ends_of({{0, 0, work(all_reduce, data_group(), 2 * kValues)},
                       {2, 0, work(all_reduce, data_group(), 2 * kValues)},
                       {1, 0, work(send, CollectiveGroup::world, kValues, 1, 3)},
                       {3, 0, work(receive, CollectiveGroup::world, kValues, 1, 1)}}),
              ElementsAre(3'002'000, 3'002'000, 2'001'000, 2'001'000));
}

TEST(EmulatedSharing, MessagesOfTwoRanksShareTheWayOutOfTheirHostButNotTheWayIn) {
  const std::vector<Begun> there = {{0, 0, work(send, CollectiveGroup::world, kValues, 0, 2)},
                                    {2, 0, work(receive, CollectiveGroup::world, kValues, 0, 0)},
                                    {1, 0, work(send, CollectiveGroup::world, kValues, 0, 3)},
                                    {3, 0, work(receive, CollectiveGroup::world, kValues, 0, 1)}};
  EXPECT_THAT(ends_of(there), Each(2'001'000));
  const std::vector<Begun> across = {{0, 0, work(send, CollectiveGroup::world, kValues, 0, 2)},
                                     {2, 0, work(receive, CollectiveGroup::world, kValues, 0, 0)},
                                     {3, 0, work(send, CollectiveGroup::world, kValues, 0, 1)},
                                     {1, 0, work(receive, CollectiveGroup::world, kValues, 0, 3)}};
  EXPECT_THAT(ends_of(across), Each(1'001'000));
}

TEST(EmulatedSharing, AShiftIsOnAHostsLinkAsOftenAsItsRanksSendToAnother) {
  const auto all = [](std::size_t distance) {
    std::vector<Begun> begun;
    for (int rank = 0; rank < 4; ++rank) {
      CollectiveWork shifted = work(shift, CollectiveGroup::world, kValues, 0, distance);
      shifted.received = std::span(values()).last(kValues);
      begun.push_back({rank, rank * 1000, shifted});
    }
    return begun;
  };
  EXPECT_THAT(ends_of(all(1)), Each(3000 + 1'000'000 + 1000));
  EXPECT_THAT(ends_of(all(2)), Each(3000 + 2'000'000 + 1000));
  // The transfer alone, in which all meet.
  EXPECT_THAT(ends_of(all(0)), Each(3000));
  std::vector<Begun> inside;
  for (int rank = 0; rank < 4; ++rank) {
    inside.push_back({rank, 0, work(shift, tensor_group(), kValues, 0, 1)});
    inside.back().work.received = std::span(values()).last(kValues);
  }
  EXPECT_THAT(ends_of(inside), Each(250'000 + 100));
}

TEST(EmulatedSharing, AMessageHeldBackElsewhereLeavesItsShareToOthers) {
  // Four hosts of one rank. Three messages into host 3 have a third of its way in each; another
  // one out of host 0 has what the first leaves there.
  EmulatedRanks ranks(Mesh({4, 1}), kNetwork, kInside);
  const auto world = CollectiveGroup::world;
  EXPECT_THAT(ranks.run({{0, 0, work(send, world, kValues, 0, 3)},
                         {3, 0, work(receive, world, kValues, 0, 0)},
                         {1, 0, work(send, world, 3 * kValues, 0, 3)},
                         {3, 0, work(receive, world, 3 * kValues, 0, 1)},
                         {2, 0, work(send, world, 3 * kValues, 1, 3)},
                         {3, 0, work(receive, world, 3 * kValues, 1, 2)},
                         {0, 0, work(send, world, 2 * kValues, 0, 1)},
                         {1, 0, work(receive, world, 2 * kValues, 0, 0)}}),
              ElementsAre(3'001'000, 3'001'000, 7'001'000, 7'001'000, 7'001'000, 7'001'000,
                          3'001'000, 3'001'000));
}

TEST(EmulatedSharing, GroupsInsideAndBetweenHostsDoNotSlowEachOther) {
  EXPECT_THAT(
      ends_of({{0, 0, work(all_reduce, tensor_group(), kValues, 1)},
               {1, 0, work(all_reduce, tensor_group(), kValues, 1)},
               {0, 0, work(all_reduce, data_group(), kValues)},
               {2, 0, work(all_reduce, data_group(), kValues)},
               // Two parts of one group share the links of their ranks.
               {2, 0, work(all_gather, tensor_group(), kValues, 1)},
               {3, 0, work(all_gather, tensor_group(), kValues, 1)},
               {2, 0, work(all_gather, tensor_group(), kValues, 2)},
               {3, 0, work(all_gather, tensor_group(), kValues, 2)}}),
      ElementsAre(250'200, 250'200, 1'002'000, 1'002'000, 250'100, 250'100, 250'100, 250'100));
}

TEST(EmulatedSharing, RanksOfASingleHostHaveTheLinkEach) {
  EmulatedRanks ranks(Mesh({4, 4}), kNetwork, {});
  const auto world = CollectiveGroup::world;
  EXPECT_THAT(ranks.run({{0, 0, work(send, world, kValues, 0, 1)},
                         {1, 0, work(receive, world, kValues, 0, 0)},
                         {2, 0, work(send, world, kValues, 0, 3)},
                         {3, 0, work(receive, world, kValues, 0, 2)},
                         {0, 3'000'000, work(reduce_scatter, world, kValues)},
                         {1, 3'000'000, work(reduce_scatter, world, kValues)},
                         {2, 3'000'000, work(reduce_scatter, world, kValues)},
                         {3, 3'000'000, work(reduce_scatter, world, kValues)}}),
              ElementsAre(1'001'000, 1'001'000, 1'001'000, 1'001'000, 3'753'000, 3'753'000,
                          3'753'000, 3'753'000));
}

TEST(EmulatedSharing, AnAllToAllHasTheMostBytesOfItsRanks) {
  using Counts = std::vector<std::size_t>;
  std::vector<float> received(110'000);
  const auto exchange = [&](int rank, const Counts& sent, const Counts& got) {
    CollectiveWork all = work(all_to_all, data_group(), sent[0] + sent[1]);
    all.received = std::span(received).first(got[0] + got[1]);
    all.sent_counts = sent;
    all.received_counts = got;
    return Begun{rank, 0, all};
  };
  // Rank 0 sends 100,000 values to rank 2, which sends 10,000; each keeps 100.
  const Counts sent = {100, 100'000}, got = {100, 10'000};
  const Counts sent_by_other = {10'000, 100}, got_by_other = {100'000, 100};
  EXPECT_THAT(ends_of({exchange(0, sent, got), exchange(2, sent_by_other, got_by_other)}),
              Each(400'000 + 1000));
}

TEST(EmulatedSharing, ASendThatNeedNotWaitTakesTheLinkOnceItsReceiverHasCome) {
  EmulatedRanks ranks(two_by_two(), kNetwork, kInside, EmulatedRanks::Sends::at_once);
  const std::vector<std::int64_t> ends =
      ranks.run({{0, 0, work(send, CollectiveGroup::world, kValues, 0, 2)},
                 {2, 100'000'000, work(receive, CollectiveGroup::world, kValues, 0, 0)}});
  EXPECT_EQ(ends[1], 101'001'000);
  // The sender looks again from time to time.
  EXPECT_GE(ends[0], ends[1]);
  EXPECT_LE(ends[0], ends[1] + 101'001'000 / 50);
}

TEST(EmulatedSharing, APartWithoutItsOtherRanksEndsInTimeAndIsForgotten) {
  EmulatedRanks ranks(two_by_two(), kNetwork, kInside, EmulatedRanks::Sends::at_once);
  std::vector<Result<void>> results;
  const auto sent = work(send, CollectiveGroup::world, kValues, 0, 2);
  const auto got = work(receive, CollectiveGroup::world, kValues, 0, 0);
  std::int64_t end_ns = 0;
  ranks.clock.run({[&] {
                     results.push_back(ranks.rank(0).run(sent));
                     EXPECT_GT(ranks.clock.now_ns(), 1'000'000'000);
                     ranks.clock.sleep_until_ns(2'000'000'000);
                     results.push_back(ranks.rank(0).run(sent));
                     end_ns = ranks.clock.now_ns();
                   },
                   [&] {
                     ranks.clock.sleep_until_ns(2'000'000'000);
                     results.push_back(ranks.rank(2).run(got));
                   }});
  ASSERT_EQ(results.size(), 3u);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, ErrorCode::timed_out);
  EXPECT_THAT(results[0].error().message, testing::HasSubstr("within 1000 ms"));
  EXPECT_TRUE(results[1] && results[2]);
  EXPECT_EQ(end_ns, 2'001'001'000);
}

TEST(EmulatedSharing, AbortEndsAPartOnItsWay) {
  EmulatedRanks ranks(two_by_two(), kNetwork, kInside);
  Result<void> aborted;
  std::int64_t other_ns = 0;
  // Shares the link with a second part, so that it looks when that one ends.
  const auto part = work(all_reduce, data_group(), 3 * kValues);
  const auto short_part = work(all_reduce, data_group(), kValues, 1);
  std::vector<std::function<void()>> bodies = {[&] { aborted = ranks.rank(0).run(part); },
                                               [&] {
                                                 EXPECT_TRUE(ranks.rank(2).run(part));
                                                 other_ns = ranks.clock.now_ns();
                                               },
                                               [&] {
                                                 ranks.clock.sleep_until_ns(1'000'000);
                                                 ranks.rank(0).abort();
                                               },
                                               [&] { EXPECT_TRUE(ranks.rank(1).run(short_part)); },
                                               [&] { EXPECT_TRUE(ranks.rank(3).run(short_part)); }};
  ranks.clock.run(bodies);
  ASSERT_FALSE(aborted);
  EXPECT_THAT(aborted.error().message, testing::HasSubstr("rank 0 has aborted"));
  EXPECT_EQ(other_ns, 4'002'000) << "the others go on";
}

TEST(EmulatedSharing, RanksOfOneMachineShareTheirLinks) {
  const SteadyClock clock;
  run_local_ranks(
      4,
      [&](int, Collective& collective) {
        const auto link = EmulatedLink::shared(collective, {1e12, 0}, clock);
        ASSERT_TRUE(link) << link.error().message;
        EXPECT_TRUE((*link)->is_shared());
        std::vector<float> sums(10, 1);
        ASSERT_TRUE((*link)->all_reduce(sums, 0));
        EXPECT_THAT(sums, Each(4));
      },
      60'000'000'000, 2);
}

/// A rank that hears a name as if rank 0 were on another machine, or with a mesh of its own.
class OtherRank final : public Collective {
 public:
  OtherRank(Collective& link, bool is_elsewhere, const Mesh& mesh)
      : link_(link), is_elsewhere_(is_elsewhere), mesh_(mesh) {}

  int rank() const override { return link_.rank(); }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override {
    auto name = link_.hear();
    return is_elsewhere_ ? "/proc/1/fd/3 other" : name;
  }
  Result<void> run(const CollectiveWork& work) override { return link_.run(work); }

 private:
  Collective& link_;
  const bool is_elsewhere_;
  const Mesh mesh_;
};

TEST(EmulatedSharing, RanksOfSeveralMachinesHaveLinksOfTheirOwn) {
  const SteadyClock clock;
  run_local_ranks(3, [&](int rank, Collective& collective) {
    OtherRank other(collective, rank == 2, collective.mesh());
    const auto link = EmulatedLink::shared(other, {1e12, 0}, clock);
    ASSERT_TRUE(link) << link.error().message;
    EXPECT_FALSE((*link)->is_shared());
    std::vector<float> sums(10, 1);
    ASSERT_TRUE((*link)->all_reduce(sums, 0));
    EXPECT_THAT(sums, Each(3));
  });
}

TEST(EmulatedSharing, RanksWithDifferentLinksAreRefused) {
  const SteadyClock clock;
  run_local_ranks(4, [&](int rank, Collective& collective) {
    // One of them takes two hosts for one.
    OtherRank other(collective, false, rank == 3 ? Mesh({4, 2}) : Mesh({4, 1}));
    const auto link = EmulatedLink::shared(other, {1e12, 0}, clock);
    if (rank != 3) {
      ASSERT_TRUE(link) << link.error().message;
      EXPECT_FALSE((*link)->is_shared());
      return;
    }
    ASSERT_FALSE(link);
    EXPECT_EQ(link.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(link.error().message, testing::HasSubstr("start all ranks with the same options"));
  });
}

}  // namespace
}  // namespace hocket
