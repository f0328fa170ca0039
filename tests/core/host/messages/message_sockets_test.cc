#include "core/host/messages/message_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <future>
#include <random>
#include <thread>

#include "core/host/messages/message_dial.h"
#include "core/host/messages/message_listener.h"
#include "tests/core/host/messages/message_ranks.h"
#include "tests/reserved_port.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using std::chrono::milliseconds;
using tcp = boost::asio::ip::tcp;

/// More than the system keeps for a connection.
constexpr std::size_t kHugeMessage = 48 << 20;
/// A test that waits for it does not end within its own time limit.
constexpr milliseconds kNoMessageLimit{3'600'000};

TEST(MessageSockets, MessagesArriveBothWays) {
  MessageRanks ranks(3);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0), std::pair(2, 0)}) {
    for (std::uint64_t index = 0; index < 3; ++index) {
      const std::string text = std::to_string(from) + " to " + std::to_string(to);
      ASSERT_TRUE(send_text(ranks[from], to, {0, index}, text));
      EXPECT_EQ(receive_text(ranks[to], from, {0, index}, text.size()), text);
    }
  }
  ASSERT_TRUE(send_text(ranks[1], 2, {0, 0}, ""));
  EXPECT_EQ(receive_text(ranks[2], 1, {0, 0}, 0), "");
}

TEST(MessageSockets, AMessageThatNobodyWaitsForIsKeptInItsOrder) {
  MessageRanks ranks(2);
  for (const char* const text : {"first", "again"})
    ASSERT_TRUE(send_text(ranks[1], 0, {.group = 0, .index = 5}, text));
  ASSERT_TRUE(send_text(ranks[1], 0, {.group = 1, .index = 5}, "other"));
  ASSERT_TRUE(send_text(ranks[1], 0, {.group = 0, .index = 4}, "later"));
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 4}, 5), "later");
  EXPECT_EQ(receive_text(ranks[0], 1, {1, 5}, 5), "other");
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 5}, 5), "first");
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 5}, 5), "again");
}

TEST(MessageSockets, AnotherSizeIsAnErrorThatNamesBoth) {
  MessageRanks ranks(2);
  const std::string sizes = "rank 1 sent 5 bytes as message 7, and this rank receives 9";
  for (const char* const text : {"keep", "early", "after"})
    ASSERT_TRUE(send_text(ranks[1], 0, {0, text == std::string("keep") ? 6U : 7U}, text));
  expect_error(receive_text(ranks[0], 1, {0, 7}, 9), ErrorCode::invalid_argument, sizes);
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 6}, 4), "keep");
  // This one is kept before it is asked for.
  ASSERT_TRUE(send_text(ranks[1], 0, {0, 8}, "last"));
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 8}, 4), "last");
  expect_error(receive_text(ranks[0], 1, {0, 7}, 9), ErrorCode::invalid_argument, sizes);
}

TEST(MessageSockets, HugeMessagesCrossEachOther) {
  MessageRanks ranks(2);
  std::vector<std::jthread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&ranks, rank] {
      ASSERT_TRUE(send_text(ranks[rank], 1 - rank, {}, std::string(kHugeMessage, 'a')));
    });
    threads.emplace_back([&ranks, rank] {
      EXPECT_TRUE(receive_text(ranks[rank], 1 - rank, {}, kHugeMessage) ==
                  std::string(kHugeMessage, 'a'));
    });
  }
}

TEST(MessageSockets, ThreadsShareAPairInAnyOrder) {
  constexpr int kThreads = 4;
  const std::uint64_t seed = std::random_device()();
  const std::uint64_t messages = rounds(400);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const auto text_of = [&](std::uint64_t index) {
    std::mt19937_64 random(seed + index);
    const std::size_t size = random() % 8 == 0 ? random() % 300'000 : random() % 3000;
    return std::string(size, static_cast<char>('a' + index % 26));
  };
  std::vector<std::uint64_t> order(messages);
  for (std::uint64_t index = 0; index < messages; ++index) order[index] = index;
  MessageRanks ranks(2);
  std::vector<std::jthread> threads;
  const auto share = [&](std::atomic<std::size_t>& next, const auto& carry) {
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&next, &order, messages, carry] {
        // Neighbours in the order begin at once, and pass each other.
        for (std::size_t at = next++; at < messages; at = next++) carry(order[at]);
      });
    }
  };
  // Each side takes the messages in an order that differs a little from the other's.
  std::atomic<std::size_t> sent = 0, received = 0;
  std::mt19937_64 random(seed);
  for (std::size_t begin = 0; begin + 8 <= messages; begin += 8)
    std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(begin),
                 order.begin() + static_cast<std::ptrdiff_t>(begin + 8), random);
  share(sent, [&](std::uint64_t index) {
    ASSERT_TRUE(send_text(ranks[1], 0, {0, index}, text_of(index)));
  });
  share(received, [&](std::uint64_t index) {
    const std::uint64_t own = index ^ 1;  // messages are even in number
    const std::string expected = text_of(own);
    const auto got = receive_text(ranks[0], 1, {0, own}, expected.size());
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_TRUE(*got == expected) << own;
  });
}

TEST(MessageSockets, AMessageOutlivesItsSender) {
  MessageRanks ranks(2);
  ASSERT_TRUE(send_text(ranks[1], 0, {}, "the last words"));
  ranks.end(1);
  EXPECT_EQ(receive_text(ranks[0], 1, {}, 14), "the last words");
  expect_error(receive_text(ranks[0], 1, {}, 1), ErrorCode::unavailable, "rank 1 is gone");
}

TEST(MessageSockets, ARankThatEndsIsGoneForWhoWaitsAndWhoSends) {
  MessageRanks ranks(3);
  std::jthread waits(
      [&] { expect_error(receive_text(ranks[0], 2, {}, 1), ErrorCode::unavailable, "rank 2"); });
  // This one's connection stands when its sender ends.
  ASSERT_TRUE(send_text(ranks[2], 1, {0, 0}, "x"));
  ASSERT_TRUE(receive_text(ranks[1], 2, {0, 0}, 1));
  std::jthread waits_again([&] {
    expect_error(receive_text(ranks[1], 2, {0, 1}, 1), ErrorCode::unavailable, "rank 2");
  });
  std::promise<void> is_sending;
  std::jthread sends([&] {
    ASSERT_TRUE(send_text(ranks[0], 2, {0, 0}, "x"));
    is_sending.set_value();
    expect_error(send_text(ranks[0], 2, {0, 1}, std::string(kHugeMessage, 'x')),
                 ErrorCode::unavailable, "rank 2");
  });
  is_sending.get_future().wait();
  ranks.end(2);
  sends.join();
  expect_error(send_text(ranks[1], 2, {}, "x"), ErrorCode::unavailable, "rank 2");
}

TEST(MessageSockets, ARankThatWasNeverThereIsGone) {
  const ReservedPort port;
  MessageRanks ranks(2);
  MessageAddress nowhere = ranks.address(1);
  nowhere.port = port.port();
  auto alone = MessageSockets::listen({.rank = 0, .world_size = 2});
  ASSERT_TRUE(alone);
  (*alone)->set_addresses({(*alone)->address(), nowhere});
  expect_error(send_text(**alone, 1, {}, "x"), ErrorCode::unavailable, "rank 1");
  expect_error(receive_text(**alone, 1, {}, 1), ErrorCode::unavailable, "rank 1");
}

TEST(MessageSockets, AnAddressOfAnotherHostIsRefused) {
  for (const char* const host : {"192.0.2.7", "no address", ""}) {
    const auto refused = MessageSockets::listen({.rank = 0, .world_size = 2, .host = host});
    expect_error(refused, ErrorCode::unavailable, "cannot listen for messages");
  }
}

TEST(MessageSockets, ASilentRankIsATimeoutThatNamesIt) {
  MessageRanks ranks(2, milliseconds(300));
  expect_error(receive_text(ranks[0], 1, {}, 1), ErrorCode::timed_out,
               "rank 1 has been silent for 300 ms");
  // Nobody receives.
  expect_error(send_text(ranks[0], 1, {}, std::string(kHugeMessage, 'x')), ErrorCode::timed_out,
               "rank 1 has been silent for 300 ms");
  expect_error(send_text(ranks[0], 1, {}, "x"), ErrorCode::timed_out, "rank 1");
}

TEST(MessageSockets, ARankThatDoesNotGreetIsSilent) {
  boost::asio::io_context context;
  const tcp::acceptor silent(context, {boost::asio::ip::address_v4::loopback(), 0});
  auto alone = MessageSockets::listen({.rank = 0, .world_size = 2, .timeout = milliseconds(300)});
  ASSERT_TRUE(alone);
  MessageAddress address = (*alone)->address();
  address.port = silent.local_endpoint().port();
  (*alone)->set_addresses({(*alone)->address(), address});
  expect_error(send_text(**alone, 1, {}, "x"), ErrorCode::timed_out, "rank 1");
  expect_error(receive_text(**alone, 1, {}, 1), ErrorCode::timed_out, "rank 1");
}

TEST(MessageSockets, AMessageThatEndsInTheMiddleIsAnError) {
  const message_wire::Head head{.bytes = 100};
  for (const bool closes : {true, false}) {
    MessageRanks ranks(2, milliseconds(2000));
    auto liar = ranks.call({.rank = 1, .purpose = message_wire::kSend});
    ASSERT_TRUE(liar) << liar.error().message;
    const std::string sent = std::string(greeting::message_bytes(head)) + "only these";
    ASSERT_EQ(::send(liar->get(), sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
    if (closes) liar->reset();
    expect_error(receive_text(ranks[0], 1, {}, 100),
                 closes ? ErrorCode::unavailable : ErrorCode::timed_out, "rank 1");
  }
}

TEST(MessageSockets, AHeadThatClaimsTooMuchTakesNoMemory) {
  MessageRanks ranks(2);
  auto liar = ranks.call({.rank = 1, .purpose = message_wire::kSend});
  ASSERT_TRUE(liar);
  const message_wire::Head head{.index = 3, .bytes = ~std::uint64_t{0}};
  ASSERT_EQ(::send(liar->get(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  liar->reset();
  expect_error(receive_text(ranks[0], 1, {}, 100), ErrorCode::unavailable, "rank 1");
}

TEST(MessageSockets, StrangersBecomeNoRanks) {
  MessageRanks ranks(2);
  const auto refused = [&](const message_wire::Caller& caller, const std::string& secret,
                           const std::string& why) {
    expect_error(ranks.call(caller, secret), ErrorCode::invalid_argument, why);
  };
  refused({.rank = 1}, "guessed", "differs");
  refused({.rank = 2}, "of the job", "there is no other rank of this number");
  refused({.rank = 0}, "of the job", "there is no other rank of this number");
  refused({.rank = ~0U}, "of the job", "there is no other rank of this number");
  refused({.rank = 1, .purpose = 9}, "of the job", "neither sends nor watches");
  ASSERT_TRUE(send_text(ranks[1], 0, {0, 0}, "hello"));
  refused({.rank = 1}, "of the job", "already has a connection");
  EXPECT_EQ(receive_text(ranks[0], 1, {0, 0}, 5), "hello");
}

TEST(MessageSockets, StrangersWhoSayNothingOrNonsenseKeepNobodyOut) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  MessageRanks ranks(2);
  boost::asio::io_context context;
  const tcp::endpoint there(boost::asio::ip::address_v4::loopback(),
                            static_cast<std::uint16_t>(ranks.address(0).port));
  const greeting::Introduction introduction{
      .opening = greeting::opening_of(message_wire::kProtocol), .has_secret = 1};
  std::vector<tcp::socket> strangers;
  // More than there are places for.
  for (int i = 0; i < 200; ++i) {
    strangers.emplace_back(context).connect(there);
    std::string sent(random() % 200, '\0');
    for (char& each : sent) each = static_cast<char>(random());
    if (i % 4 == 0) sent.clear();
    if (i % 4 == 1) sent = std::string(greeting::message_bytes(introduction));
    if (i % 4 == 2) sent = std::string(greeting::message_bytes(introduction)).substr(0, 50);
    boost::system::error_code ignored;
    boost::asio::write(strangers.back(), boost::asio::buffer(sent), ignored);
  }
  ASSERT_TRUE(send_text(ranks[1], 0, {}, "still here"));
  EXPECT_EQ(receive_text(ranks[0], 1, {}, 10), "still here");
}

TEST(MessageSockets, AbortEndsWhoWaitsAndWhoSends) {
  const std::string why = "this rank has ended its communication";
  MessageRanks ranks(3, kNoMessageLimit);
  ASSERT_TRUE(send_text(ranks[1], 0, {}, "x"));
  ASSERT_TRUE(receive_text(ranks[0], 1, {}, 1));
  std::vector<std::jthread> blocked;
  for (const int from : {1, 2}) {  // one has a connection, and the other none
    for (std::uint64_t index = 1; index < 4; ++index) {
      blocked.emplace_back([&, from, index] {
        expect_error(receive_text(ranks[0], from, {0, index}, 1), ErrorCode::unavailable, why);
      });
    }
  }
  for (std::uint64_t index = 1; index < 3; ++index) {
    blocked.emplace_back([&, index] {
      const auto sent = send_text(ranks[0], 1, {0, index}, std::string(kHugeMessage, 'x'));
      expect_error(sent, ErrorCode::unavailable, why);
    });
  }
  // By then a thread is in the middle of sending.
  ASSERT_TRUE(send_text(ranks[0], 2, {}, "x"));
  ASSERT_TRUE(receive_text(ranks[2], 0, {}, 1));
  ranks[0].abort();
  blocked.clear();
  expect_error(send_text(ranks[0], 2, {0, 1}, "x"), ErrorCode::unavailable, why);
  expect_error(receive_text(ranks[0], 2, {0, 9}, 1), ErrorCode::unavailable, why);
  // The others learn of it.
  expect_error(receive_text(ranks[1], 0, {0, 9}, 1), ErrorCode::unavailable, "rank 0");
  expect_error(receive_text(ranks[2], 0, {0, 9}, 1), ErrorCode::unavailable, "rank 0");
}

TEST(MessageSockets, AbortEndsWhoConnects) {
  const std::string why = "this rank has ended its communication";
  boost::asio::io_context context;
  tcp::acceptor silent(context, {boost::asio::ip::address_v4::loopback(), 0});
  auto alone = MessageSockets::listen({.rank = 0, .world_size = 2, .timeout = kNoMessageLimit});
  ASSERT_TRUE(alone);
  MessageAddress address = (*alone)->address();
  address.port = silent.local_endpoint().port();
  (*alone)->set_addresses({(*alone)->address(), address});
  std::jthread sends(
      [&] { expect_error(send_text(**alone, 1, {}, "x"), ErrorCode::unavailable, why); });
  std::jthread receives(
      [&] { expect_error(receive_text(**alone, 1, {}, 1), ErrorCode::unavailable, why); });
  // Both are on their way.
  const std::array<tcp::socket, 2> taken = {silent.accept(), silent.accept()};
  (*alone)->abort();
  sends.join();
  receives.join();
}

TEST(MessageSockets, AbortEndsWhoWaitsForARankThatDoesNotConnect) {
  for (int round = 0; round < 10; ++round) {
    std::promise<void> is_watched;
    auto alone = MessageSockets::listen({.rank = 0, .world_size = 2, .timeout = kNoMessageLimit});
    ASSERT_TRUE(alone);
    MessageAddress address = (*alone)->address();
    const auto silent = MessageListener::listen(
        {.secret = message_secret("", address)},
        {.admit = [&, callers = 0](const message_wire::Caller& caller) mutable -> Result<void> {
           EXPECT_EQ(caller.purpose, message_wire::kWatch);
           if (callers++ == 0) is_watched.set_value();
           return {};
         },
         .arrived = [](int, FileDescriptor) { ADD_FAILURE(); },
         .gave_up = [](int) { ADD_FAILURE(); }});
    ASSERT_TRUE(silent);
    address.port = (*silent)->port();
    (*alone)->set_addresses({(*alone)->address(), address});
    std::jthread receives([&] {
      expect_error(receive_text(**alone, 1, {}, 1), ErrorCode::unavailable,
                   "this rank has ended its communication");
    });
    is_watched.get_future().wait();
    // By the end of other connections to the same rank the receiver has one as well, and waits.
    const OpenSockets others;
    for (int other = 0; other < 3; ++other) {
      ASSERT_TRUE(dial({.rank = 1, .address = address},
                       {.rank = 0, .purpose = message_wire::kWatch}, kUnhurriedMessages, others));
    }
    (*alone)->abort();
    receives.join();
  }
}

}  // namespace
}  // namespace hocket
