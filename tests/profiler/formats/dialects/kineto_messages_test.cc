#include "profiler/formats/dialects/kineto_messages.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hocket {
namespace {

constexpr KinetoRank kOwn{.rank = 3, .ranks = 8};
const std::vector<std::int64_t> kStage{1, 3, 5, 7};

KinetoMessage send_to(std::optional<std::int64_t> rank) {
  return {.kind = CollectiveKind::send, .source = {}, .destination = rank, .name = {}, .ranks = {}};
}

KinetoMessage named(std::string_view name, CollectiveKind kind) {
  return {.kind = kind, .source = {}, .destination = {}, .name = name, .ranks = kStage};
}

TEST(KinetoMessages, SayTheirPeerInTheJob) {
  EXPECT_EQ(ends_of(send_to(5), kOwn), (MessageEnds{3, 5}));
  KinetoMessage receive = send_to({});
  receive.kind = CollectiveKind::receive;
  receive.source = 0;
  EXPECT_EQ(ends_of(receive, kOwn), (MessageEnds{0, 3}));
  receive.destination = 3;
  EXPECT_EQ(ends_of(receive, kOwn), (MessageEnds{0, 3}));
}

TEST(KinetoMessages, SayTheirPlacesInTheGroup) {
  using enum CollectiveKind;
  EXPECT_EQ(ends_of(named("nccl:send 1->2", send), kOwn), (MessageEnds{3, 5}));
  EXPECT_EQ(ends_of(named("nccl:recv 1<-0", receive), kOwn), (MessageEnds{1, 3}));
  for (const char* name :
       {"nccl:send", "nccl:send ", "nccl:send 1", "nccl:send 1->", "nccl:send ->2",
        "nccl:send 1->4", "nccl:send 1->-1", "nccl:send 1->99999999999999999999", "nccl:send 0->2",
        "nccl:send 1<-2", "nccl:send 1->1", "nccl:send 1->2x"})
    EXPECT_FALSE(ends_of(named(name, send), kOwn)) << name;
  KinetoMessage without_group = named("nccl:send 1->2", send);
  without_group.ranks = {};
  EXPECT_FALSE(ends_of(without_group, kOwn)) << "places mean nothing without the group";
}

TEST(KinetoMessages, OfTwoRanksGoToTheOtherOne) {
  EXPECT_EQ(ends_of(send_to({}), {.rank = 1, .ranks = 2}), (MessageEnds{1, 0}));
  EXPECT_FALSE(ends_of(send_to({}), {.rank = 1, .ranks = 3}));
  EXPECT_FALSE(ends_of(send_to({}), {.rank = -1, .ranks = 2}));
  EXPECT_FALSE(ends_of(send_to({}), {.rank = 5, .ranks = 2}));
  const std::vector<std::int64_t> pair{6, 3}, others{6, 7};
  KinetoMessage message = send_to({});
  message.ranks = pair;
  EXPECT_EQ(ends_of(message, kOwn), (MessageEnds{3, 6}));
  message.ranks = others;
  EXPECT_FALSE(ends_of(message, kOwn));
}

TEST(KinetoMessages, ThatContradictThemselvesHaveNoEnds) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t peer :
       {std::int64_t{3}, std::int64_t{8}, std::int64_t{-1}, kMost, -kMost})
    EXPECT_FALSE(ends_of(send_to(peer), kOwn)) << peer;
  EXPECT_EQ(ends_of(send_to(8), {.rank = 3, .ranks = 0}), (MessageEnds{3, 8})) << "size unknown";
  KinetoMessage message = send_to(5);
  message.source = 2;
  EXPECT_FALSE(ends_of(message, kOwn)) << "it is another rank's send";
  message = send_to(6);
  message.ranks = kStage;
  EXPECT_FALSE(ends_of(message, kOwn)) << "the peer is not in the group";
  message = send_to(5);
  const std::vector<std::int64_t> group{4, 5};
  message.ranks = group;
  EXPECT_FALSE(ends_of(message, kOwn)) << "the rank is not in the group";
}

TEST(KinetoMessages, AreOfTwoDifferentRanksOfTheJobWhateverTheFileSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto any = [&] { return static_cast<std::int64_t>(random() % 7) - 2; };
    std::vector<std::int64_t> ranks(random() % 4);
    for (std::int64_t& rank : ranks) rank = any();
    const std::string name =
        "nccl:x " + std::to_string(any()) + (random() % 2 ? "->" : "<-") + std::to_string(any());
    const auto maybe = [&] { return random() % 2 ? std::optional(any()) : std::nullopt; };
    const KinetoMessage message{
        .kind = random() % 2 ? CollectiveKind::send : CollectiveKind::receive,
        .source = maybe(),
        .destination = maybe(),
        .name = name,
        .ranks = ranks};
    const KinetoRank own{.rank = any(), .ranks = any()};
    const auto ends = ends_of(message, own);
    if (!ends) continue;
    EXPECT_NE(ends->sender, ends->receiver);
    EXPECT_EQ(message.kind == CollectiveKind::send ? ends->sender : ends->receiver, own.rank);
    for (const std::int64_t rank : {ends->sender, ends->receiver}) {
      EXPECT_GE(rank, 0);
      EXPECT_TRUE(own.ranks <= 0 || rank < own.ranks) << rank;
    }
  }
}

}  // namespace
}  // namespace hocket
