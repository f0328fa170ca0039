#include "plugins/nccl/transport/socket_links.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kStepNs = 20'000'000;
constexpr int kMostSteps = 500;

class TextBoard final : public Rendezvous {
 public:
  bool publish(const std::string& name, const std::string& text) override {
    texts[name] = text;
    ++published;
    return true;
  }
  std::optional<std::string> find(const std::string& name) override {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::string> texts;
  int published = 0;
};

/// A few ranks in this thread, each of which is given its turn to wait.
class SocketLinksTest : public ::testing::Test {
 protected:
  void open(std::uint32_t rank, SocketLinksOptions options = {}) {
    options.rank = rank;
    options.ranks = 3;
    options.comm_id = comm_id_;
    options.retry_ns = 1'000'000;
    links_[rank] = std::make_unique<SocketLinks>(options);
  }

  /// Lets all ranks wait in turn until `done`; false if that takes too long.
  bool run_until(const std::function<bool()>& done) {
    for (int step = 0; step < kMostSteps; ++step) {
      if (done()) return true;
      for (auto& [rank, links] : links_) {
        for (LinkEvent& event : links->wait(kStepNs / 10)) {
          if (event.kind == LinkEvent::Kind::up) links->send(0, hello(rank));
          events_[rank].push_back(std::move(event));
        }
      }
    }
    return done();
  }

  Hello hello(std::uint32_t rank) const {
    return {.rank = rank, .ranks = 3, .comm_id = comm_id_, .count = 7};
  }

  std::size_t count(std::uint32_t rank, LinkEvent::Kind kind, std::uint32_t from) {
    std::size_t count = 0;
    for (const LinkEvent& event : events_[rank]) count += event.kind == kind && event.rank == from;
    return count;
  }
  bool has(std::uint32_t rank, std::uint32_t from, const Message& message) {
    for (const LinkEvent& event : events_[rank]) {
      if (event.kind == LinkEvent::Kind::message && event.rank == from && event.message == message)
        return true;
    }
    return false;
  }

  bool connect_all() {
    for (std::uint32_t rank = 0; rank < 3; ++rank) open(rank);
    return run_until([&] { return has(0, 1, hello(1)) && has(0, 2, hello(2)); });
  }

  const std::uint64_t comm_id_ = 0x1234'0000'0000ull + static_cast<std::uint64_t>(::getpid());
  std::map<std::uint32_t, std::unique_ptr<SocketLinks>> links_;
  std::map<std::uint32_t, std::vector<LinkEvent>> events_;
};

TEST_F(SocketLinksTest, RanksFindRankZeroWhoeverIsFirst) {
  open(1);
  open(2);
  run_until([step = 0]() mutable { return ++step > 3; });
  open(0);
  EXPECT_TRUE(run_until([&] { return has(0, 1, hello(1)) && has(0, 2, hello(2)); }));
}

TEST_F(SocketLinksTest, MessagesGoBothWaysInOrder) {
  ASSERT_TRUE(connect_all());
  for (std::uint64_t i = 1; i <= 100; ++i) {
    links_[0]->send(1, Ping{i});
    links_[2]->send(0, Pong{i, i});
  }
  EXPECT_TRUE(run_until([&] { return has(1, 0, Ping{100}) && has(0, 2, Pong{100, 100}); }));
  std::uint64_t expected = 1;
  for (const LinkEvent& event : events_[1]) {
    if (const auto* ping = std::get_if<Ping>(&event.message)) {
      if (ping->number == 0) continue;
      EXPECT_EQ(ping->number, expected++);
    }
  }
  EXPECT_EQ(expected, 101u);
}

TEST_F(SocketLinksTest, TheEndOfARankIsALostLink) {
  ASSERT_TRUE(connect_all());
  links_.erase(2);
  EXPECT_TRUE(run_until([&] { return count(0, LinkEvent::Kind::lost, 2) == 1; }));
  links_.erase(0);
  EXPECT_TRUE(run_until([&] { return count(1, LinkEvent::Kind::lost, 0) == 1; }));
  EXPECT_EQ(count(1, LinkEvent::Kind::up, 0), 1u);
}

TEST_F(SocketLinksTest, ANewLinkOfARankReplacesTheOldOneInSilence) {
  ASSERT_TRUE(connect_all());
  // Its old connection is still open when rank 0 reads the new Hello.
  auto old = std::move(links_[1]);
  open(1);
  events_[0].clear();
  EXPECT_TRUE(run_until([&] { return has(0, 1, hello(1)); }));
  old.reset();
  run_until([step = 0]() mutable { return ++step > 5; });
  EXPECT_EQ(count(0, LinkEvent::Kind::lost, 1), 0u);
  links_[0]->send(1, Ping{5});
  EXPECT_TRUE(run_until([&] { return has(1, 0, Ping{5}); }));
}

TEST_F(SocketLinksTest, RanksAskEachOtherAndAnswer) {
  ASSERT_TRUE(connect_all());
  const Ask question{.rank = 1, .arrived = {.version = 3, .gate = 0, .call = 9, .digest = 4}};
  links_[1]->send(2, question);
  ASSERT_TRUE(run_until([&] { return has(2, 1, question); }));
  links_[2]->send(1, Verdict{3, 0, true});
  EXPECT_TRUE(run_until([&] { return has(1, 2, Verdict{3, 0, true}); }));
  // The end of such a connection is no lost link.
  links_.erase(2);
  run_until([step = 0]() mutable { return ++step > 5; });
  EXPECT_EQ(count(1, LinkEvent::Kind::lost, 2), 0u);
}

TEST_F(SocketLinksTest, StrangersAreTurnedAway) {
  ASSERT_TRUE(connect_all());
  const SocketAddress address = unix_address(comm_id_, 0);
  for (const std::string& first :
       {std::string("GET / HTTP/1.1\r\n\r\n"), encode(Ping{1}), encode(Hello{.rank = 9})}) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, address.get(), address.bytes), 0);
    ASSERT_GT(::send(fd, first.data(), first.size(), MSG_NOSIGNAL), 0);
    bool is_closed = false;
    EXPECT_TRUE(run_until([&] {
      char byte = 0;
      is_closed = is_closed || ::recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
      return is_closed;
    })) << first.substr(0, 3);
    ::close(fd);
  }
  EXPECT_EQ(events_[0].size(), 2u);
}

TEST_F(SocketLinksTest, WakeEndsAWait) {
  open(1);
  links_[1]->wake();
  // Without the wake this would be as long as the test may take.
  EXPECT_TRUE(links_[1]->wait(3'600'000'000'000).empty());
}

TEST_F(SocketLinksTest, HostsMeetByWhatRankZeroPublishes) {
  TextBoard board;
  SocketLinksOptions options{.rendezvous = &board, .own_hosts = {"127.0.0.1"}};
  options.looks_on_this_host = false;
  for (std::uint32_t rank = 0; rank < 3; ++rank) open(rank, options);
  ASSERT_TRUE(run_until([&] { return has(0, 1, hello(1)) && has(0, 2, hello(2)); }));
  EXPECT_EQ(board.texts.size(), 1u);
  links_[0]->send(2, Ping{4});
  EXPECT_TRUE(run_until([&] { return has(2, 0, Ping{4}); }));
  links_.erase(0);
  EXPECT_TRUE(run_until([&] { return count(2, LinkEvent::Kind::lost, 0) == 1; }));
}

TEST_F(SocketLinksTest, RankZeroPublishesAgainUntilAllHaveCome) {
  TextBoard board;
  SocketLinksOptions options{.rendezvous = &board, .own_hosts = {"127.0.0.1"}};
  options.looks_on_this_host = false;
  options.publish_again_ns = 1'000'000;
  open(0, options);
  open(1, options);
  ASSERT_TRUE(run_until([&] { return has(0, 1, hello(1)); }));
  // The board is forgetful, like the daemon's.
  board.texts.clear();
  open(2, options);
  ASSERT_TRUE(run_until([&] { return has(0, 2, hello(2)); }));
  const int published = board.published;
  run_until([step = 0]() mutable { return ++step > 10; });
  EXPECT_EQ(board.published, published);
}

TEST_F(SocketLinksTest, WhoDoesNotKnowTheSecretHasNoLink) {
  TextBoard board, other;
  SocketLinksOptions options{.rendezvous = &board, .own_hosts = {"127.0.0.1"}};
  options.looks_on_this_host = false;
  open(0, options);
  ASSERT_TRUE(run_until([&] { return !board.texts.empty(); }));
  std::string text = board.texts.begin()->second;
  text[2] = text[2] == '0' ? '1' : '0';
  other.texts[board.texts.begin()->first] = text;
  options.rendezvous = &other;
  open(1, options);
  // It tries again and again, and is turned away each time.
  EXPECT_TRUE(run_until([&] { return count(1, LinkEvent::Kind::lost, 0) >= 2; }));
  EXPECT_TRUE(events_[0].empty());
}

TEST_F(SocketLinksTest, ManyMessagesToOneThatDoesNotReadLoseTheLinkInTheEnd) {
  ASSERT_TRUE(connect_all());
  const Statistics large{std::string(kMaxPayloadBytes, 'x')};
  for (int i = 0; i < 2000; ++i) links_[0]->send(1, large);
  auto silent = std::move(links_[1]);
  links_.erase(1);
  EXPECT_TRUE(run_until([&] { return count(0, LinkEvent::Kind::lost, 1) == 1; }));
}

}  // namespace
}  // namespace hocket::nccl
