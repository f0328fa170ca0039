#include "core/servers/rank_register.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using server_wire::RankIdentity;

RankIdentity rank_of(int rank, std::uint64_t session = 7) {
  return {.rank = rank, .ranks = 3, .server = 1, .servers = 2, .session = session};
}

RankRegister new_register() {
  return RankRegister({.ranks = 3, .server = 1, .servers = 2}, 4);
}

void expect_refused(const RankIdentity& rank, const std::string& words,
                    RankRegister ranks = new_register()) {
  const auto entered = ranks.enter(rank);
  ASSERT_FALSE(entered);
  EXPECT_THAT(entered.error().message, testing::HasSubstr(words));
}

TEST(RankRegister, RefusesWhoWasStartedOtherwise) {
  auto other = rank_of(0);
  other.ranks = 4;
  expect_refused(other, "was started for 3 ranks, the rank is one of 4");
  other = rank_of(0);
  other.servers = 1;
  expect_refused(other, "as number 1 of 2 servers, the rank takes it for number 1 of 1");
  other = rank_of(0);
  other.server = 0;
  expect_refused(other, "as number 1 of 2 servers, the rank takes it for number 0 of 2");
  expect_refused(rank_of(3), "there is no rank 3: ranks are 0 to 2");
  expect_refused(rank_of(-1), "there is no rank -1");
}

TEST(RankRegister, LetsOneProcessInForEachRankWithAFewConnections) {
  auto ranks = new_register();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ranks.enter(rank_of(1)));
  expect_refused(rank_of(1, 8), "rank 1 is already connected", ranks);
  expect_refused(rank_of(1), "rank 1 has 4 connections, which is the limit", ranks);
  EXPECT_TRUE(ranks.enter(rank_of(2, 8)));
}

TEST(RankRegister, ARankIsGoneWhenAConnectionEndsBeforeItsGoodbye) {
  auto ranks = new_register();
  for (int rank = 0; rank < 3; ++rank)
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(ranks.enter(rank_of(rank)));
  EXPECT_TRUE(ranks.end_connection(1, false));
  EXPECT_FALSE(ranks.end_connection(1, false)) << "it is gone already";
  expect_refused(rank_of(1), "rank 1 is gone and cannot come back", ranks);
  ranks.leave(0);
  EXPECT_FALSE(ranks.end_connection(0, false));
  ranks.leave(2);
  EXPECT_FALSE(ranks.end_connection(2, true));
  EXPECT_FALSE(ranks.all_ended()) << "rank 0's goodbye is not answered";
  EXPECT_FALSE(ranks.end_connection(0, true));
  EXPECT_TRUE(ranks.all_ended());
  expect_refused(rank_of(2), "rank 2 has left and cannot come back", ranks);
  const auto outcome = ranks.outcome();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, testing::StartsWith("rank 1 went away without a goodbye"));
}

TEST(RankRegister, AllEndsWellWhenAllSayGoodbye) {
  auto ranks = new_register();
  EXPECT_FALSE(ranks.all_ended());
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(ranks.enter(rank_of(rank)));
    ranks.leave(rank);
    EXPECT_FALSE(ranks.end_connection(rank, true));
  }
  EXPECT_TRUE(ranks.all_ended());
  EXPECT_TRUE(ranks.outcome());
}

}  // namespace
}  // namespace hocket
