// A parameter server among strangers, ranks that were started otherwise, and ranks that die.

#include "core/servers/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <random>

#include "tests/core/servers/parameter_server_peer.h"
#include "tests/core/servers/servers_world.h"
#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

namespace wire = server_wire;
using testing::HasSubstr;

constexpr const char* kSecret = "correct horse battery staple";

ParameterServerOptions with_secret(const std::string& secret) {
  ParameterServerOptions options;
  options.secret = secret;
  options.patience_ns = kUnhurriedNs;
  return options;
}

/// Rank 1 of 2, which a server without a secret lets in.
struct RawRankOne : RawRank {
  explicit RawRankOne(const ParameterServer& server) : RawRank(server) {
    EXPECT_EQ(introduce({.rank = 1, .ranks = 2, .server = 0, .servers = 1}).code, greeting::kDone);
  }
};

/// Rank 0 of 2 and a raw rank 1 sum a part.
void expect_serves_both(ParameterServers& zero, RawRank& one, std::uint64_t collective) {
  ASSERT_TRUE(push_ones(zero, {.collective = collective}));
  one.send_message(wire::Request{.operation = wire::kPush, .collective = collective, .values = 10});
  one.send(std::string(40, '\0'));
  ASSERT_EQ(one.receive<wire::Reply>().code, greeting::kDone);
  ASSERT_EQ(summed(zero, {.collective = collective}).value(), std::vector<float>(10, 1));
  one.send_message(wire::Request{.operation = wire::kPull, .collective = collective, .values = 10});
  ASSERT_EQ(one.receive<wire::Reply>().code, greeting::kDone);
  ASSERT_EQ((one.receive<std::array<float, 10>>()[9]), 1.0F);
}

void expect_serves(TcpWorld& world) {
  const auto rank = world.join(0);
  EXPECT_EQ(exchange_ones(*rank, {}).value(), std::vector<float>(10, 1));
}

TEST(ParameterServer, EndsWhenEveryRankHasSaidGoodbye) {
  TcpWorld world({.ranks = 3, .servers = 2});
  run_ranks(world, 3, [](int, ParameterServers& servers) {
    for (const int server : {0, 1}) {
      ASSERT_TRUE(exchange_ones(servers, {.server = server}));
    }
  });
  for (const int server : {0, 1}) {
    const auto ended = world.server(server).wait();
    EXPECT_TRUE(ended) << ended.error().message;
    while (world.server(server).used_bytes() > 0) std::this_thread::yield();
  }
}

TEST(ParameterServer, EndsAndNamesARankThatWentAwayWithoutGoodbye) {
  TcpWorld world({.ranks = 2});
  const auto zero = world.join(0);
  {
    RawRankOne one(world.server());
    expect_serves_both(*zero, one, 0);
  }
  const auto sum = exchange_ones(*zero, {.collective = 1});
  ASSERT_FALSE(sum);
  EXPECT_THAT(sum.error().message, HasSubstr(world.name() + ": rank 1 is gone"));
  zero->abort();
  const auto ended = world.server().wait();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("rank 0, rank 1 went away"));
}

TEST(ParameterServer, NoticesTheEndOfARankInTheMiddleOfAnything) {
  const wire::Request push{.operation = wire::kPush, .collective = 1, .values = 1000};
  const wire::Request await{.operation = wire::kAwait, .timeout_ns = kUnhurriedNs};
  for (const std::string& last_words :
       {bytes_of(push).substr(0, 17), bytes_of(push), bytes_of(push) + std::string(999, 'x'),
        bytes_of(await), bytes_of(await) + "x", std::string(40, 'g')}) {
    TcpWorld world({.ranks = 2});
    const auto zero = world.join(0);
    std::jthread waiting([&] {
      const auto sum = exchange_ones(*zero, {.collective = 1}, 1000);
      ASSERT_FALSE(sum);
      EXPECT_THAT(sum.error().message, HasSubstr("rank 1 is gone"));
    });
    RawRankOne(world.server()).send(last_words);
    waiting.join();
  }
}

TEST(ParameterServer, StopEndsEverything) {
  for (std::uint64_t round = 0; round < rounds(20); ++round) {
    // Another program's server may listen at the port by the time that a rank connects again.
    TcpWorld world({.ranks = 2, .servers = 2}, with_secret(kSecret));
    const auto zero = world.join(0), one = world.join(1);
    std::vector<std::jthread> waiting;
    for (const auto* rank : {&zero, &one}) {
      waiting.emplace_back([&, rank] {
        const auto sum = exchange_ones(
            **rank, {.collective = static_cast<std::uint64_t>(rank == &one), .server = 1});
        ASSERT_FALSE(sum);
        EXPECT_EQ(sum.error().code, ErrorCode::unavailable);
        EXPECT_THAT(sum.error().message, HasSubstr(world.name(1) + " "));
        EXPECT_THAT(sum.error().message,
                    testing::AnyOf(HasSubstr("is gone: "), HasSubstr("cannot be reached")));
      });
    }
    world.server(1).stop();
    waiting.clear();
    for (const auto* rank : {&zero, &one}) {
      const auto later = exchange_ones(**rank, {.collective = 2, .server = 1});
      ASSERT_FALSE(later);
      EXPECT_THAT(later.error().message, HasSubstr(world.name(1) + " "));
      EXPECT_TRUE(push_ones(**rank, {.server = 0}));
    }
    EXPECT_TRUE(summed(*zero, {.server = 0}));
    EXPECT_TRUE(world.server(1).wait()) << "no rank is to blame";
  }
}

/// The error with which a rank with these options is refused.
Error refusal_for(const TcpServersOptions& options) {
  const auto connected = connect_servers(options);
  return connected ? Error{ErrorCode::not_found, "it was let in"} : connected.error();
}

TEST(ParameterServer, RefusesRanksThatWereStartedOtherwise) {
  TcpWorld world({.ranks = 2, .servers = 2}, with_secret(kSecret));
  const auto zero = world.join(0);
  const auto expect = [&](const TcpServersOptions& options, const std::string& words) {
    const Error error = refusal_for(options);
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, testing::AllOf(HasSubstr(world.name()), HasSubstr(words)));
  };
  auto options = world.options(1);
  options.secret = "guessed";
  expect(options, "HOCKET_RENDEZVOUS_SECRET of this rank differs from the server's");
  options.secret = "";
  expect(options, "HOCKET_RENDEZVOUS_SECRET is set for the server and not for this rank");
  options = world.options(2);
  options.ranks = 3;
  expect(options, "started for 2 ranks, the rank is one of 3");
  options = world.options(1);
  options.addresses.pop_back();
  expect(options, "as number 0 of 2 servers, the rank takes it for number 0 of 1");
  expect(world.options(0), "rank 0 is already connected");
  options = world.options(1);
  std::swap(options.addresses[0], options.addresses[1]);
  EXPECT_THAT(refusal_for(options).message, HasSubstr("as number 1 of 2 servers, the rank takes"));
  EXPECT_TRUE(connect_servers(world.options(1))) << "refusals do no harm";
  EXPECT_THAT(refusal_for(world.options(1)).message, HasSubstr("rank 1 has left"));
}

TEST(ParameterServer, WithoutASecretRefusesRanksWithOne) {
  TcpWorld world({.ranks = 1});
  auto options = world.options(0);
  options.secret = kSecret;
  EXPECT_THAT(refusal_for(options).message,
              HasSubstr("HOCKET_RENDEZVOUS_SECRET is set for this rank and not for the server"));
  expect_serves(world);
}

TEST(ParameterServer, TellsOtherVersionsWhy) {
  TcpWorld world({.ranks = 1}, with_secret(kSecret));
  RawRank other(world.server());
  (void)other.receive<greeting::Greeting>();
  other.send(introduction_of({.rank = 0, .ranks = 1}, {wire::kProtocol.magic, 77}));
  const auto outcome = other.receive<greeting::Verdict>().outcome;
  EXPECT_EQ(outcome.code, greeting::refusal_of({ErrorCode::invalid_argument, ""}).outcome.code);
  EXPECT_THAT(other.receive_text(outcome.text_bytes), HasSubstr("the rank speaks version 77"));
  other.wait_for_end();
  expect_serves(world);
}

TEST(ParameterServer, StrangersHarmNobody) {
  TcpWorld world({.ranks = 2}, with_secret(kSecret));
  const auto zero = world.join(0), one = world.join(1);
  const std::string honest = introduction_of({.rank = 1, .ranks = 2}) +
                             bytes_of(wire::Request{.operation = wire::kGoodbye});
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RawRank(world.server()).send(seed == 0 ? honest : mutate(honest, random));
    const ServedPart part{.collective = seed};
    for (const auto* rank : {&zero, &one}) ASSERT_TRUE(push_ones(**rank, part));
    for (const auto* rank : {&zero, &one}) ASSERT_TRUE(summed(**rank, part));
  }
}

TEST(ParameterServer, ARankThatSendsGarbageIsGoneAndHarmsNoOther) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TcpWorld world({.ranks = 2, .limit_bytes = 1 << 20});
    const auto zero = world.join(0);
    std::string requests;
    for (std::uint64_t part = 0; part < 3; ++part) {
      requests +=
          bytes_of(wire::Request{.operation = wire::kPush, .collective = part, .values = 10});
      requests += std::string(40, '\0');
      requests +=
          bytes_of(wire::Request{.operation = wire::kPull, .collective = part, .values = 10});
    }
    RawRankOne(world.server()).send(mutate(requests, random));
    for (std::uint64_t part = 0; part < 4; ++part) {
      const auto sum = exchange_ones(*zero, {.collective = part});
      if (sum) continue;
      EXPECT_THAT(sum.error().message,
                  testing::AnyOf(HasSubstr("rank 1 is gone"), HasSubstr("rank 1 has left"),
                                 HasSubstr("rank 1 pushes"), HasSubstr("rank 1 pulls"),
                                 HasSubstr("rank 0 pushes"), HasSubstr("next sum is another")));
    }
    ASSERT_LE(world.server().used_bytes(), std::size_t{1} << 20);
  }
}

TEST(ParameterServer, AHugeClaimTakesNoMemoryAndGetsAnAnswer) {
  TcpWorld world({.ranks = 2, .limit_bytes = 1 << 20});
  const auto zero = world.join(0);
  RawRankOne one(world.server());
  one.send_message(wire::Request{.operation = wire::kPush, .values = std::uint64_t{1} << 60});
  const auto reply = one.receive<wire::Reply>();
  EXPECT_EQ(reply.code, greeting::refusal_of({ErrorCode::unavailable, ""}).outcome.code);
  EXPECT_THAT(one.receive_text(reply.more_bytes), HasSubstr("limit of sums is 1048576 bytes"));
  EXPECT_LT(world.server().used_bytes(), 1000U);
  one.send(std::string(1 << 20, 'x'));
  RawRank(world.server()).introduce({.rank = 1, .ranks = 2, .servers = 1});
  const auto sum = exchange_ones(*zero, {});
  ASSERT_FALSE(sum);
  EXPECT_THAT(sum.error().message, HasSubstr("rank 1 is gone"));
}

TEST(ParameterServer, AStrangerHasLittleTimeAndARankAllTheTimeThatItWants) {
  ParameterServerOptions options;
  options.patience_ns = 500'000'000;  // enough for a rank on a busy machine
  TcpWorld world({.ranks = 2}, options);
  RawRankOne one(world.server());
  const auto zero = world.join(0);
  RawRank silent(world.server()), slow(world.server()), refused(world.server());
  slow.send(introduction_of({}).substr(0, 50));
  refused.introduce({.rank = 5, .ranks = 2, .servers = 1});
  for (auto* const stranger : {&silent, &slow, &refused}) stranger->wait_for_end();
  expect_serves_both(*zero, one, 0);
}

TEST(ParameterServer, ThereIsAlwaysRoomForARankAmongStrangers) {
  ParameterServerOptions options = with_secret("");
  options.strangers = 3;
  options.connections_per_rank = 3;
  TcpWorld world({.ranks = 1}, options);
  std::list<RawRank> strangers;
  for (int i = 0; i < 10; ++i) (void)strangers.emplace_back(world.server());
  strangers.front().wait_for_end();
  expect_serves(world);
}

TEST(ParameterServer, RefusesConnectionsBeyondALimit) {
  ParameterServerOptions options;
  options.connections_per_rank = 2;
  TcpWorld world({.ranks = 2}, options);
  RawRankOne first(world.server()), second(world.server());
  RawRank third(world.server());
  const auto outcome = third.introduce({.rank = 1, .ranks = 2, .servers = 1});
  EXPECT_THAT(third.receive_text(outcome.text_bytes), HasSubstr("rank 1 has 2 connections"));
}

TEST(ParameterServer, SaysWhyItCannotListen) {
  TcpWorld world({.ranks = 1});
  ParameterServerOptions options;
  options.port = world.server().port();
  const auto taken = ParameterServer::listen(options);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_THAT(taken.error().message,
              HasSubstr("cannot listen at 127.0.0.1:" + std::to_string(options.port)));
  options.ranks = 0;
  EXPECT_FALSE(ParameterServer::listen(options));
  options.ranks = 1;
  options.server = 1;
  EXPECT_THAT(ParameterServer::listen(options).error().message,
              HasSubstr("no parameter server 1 of 1"));
}

}  // namespace
}  // namespace hocket
