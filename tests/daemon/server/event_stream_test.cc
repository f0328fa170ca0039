#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/daemon/raw_client.h"
#include "tests/daemon/running_server.h"

// Tests waiting for a topic: long polls and event streams.

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kMillisecondNs = 1'000'000, kHour = 3'600'000'000'000;

/// "/poll" waits for an event on "topic" and returns its sequence; "/watch" streams it.
struct WaitingServer : RunningServer {
  explicit WaitingServer(ServerOptions options = {}, std::int64_t timeout_ns = kHour)
      : RunningServer(std::move(options)) {
    service.at_once = [](const ServiceRequest& request) -> std::optional<ServiceResponse> {
      if (request.target == "/healthz") return text_response("ok");
      return std::nullopt;
    };
    service.later = [this, timeout_ns](const ServiceRequest& request,
                                       bool is_last) -> ServiceReply {
      if (request.target == "/watch") {
        return EventStream{{{"topic", 0}, {"other", 0}}, service.hold("job")};
      }
      const auto sequence = feed.position("topic").sequence;
      ++polls;
      if (sequence == 0 && !is_last) return AwaitEvent{"topic", 0, timeout_ns};
      return text_response(std::to_string(sequence));
    };
    start();
  }
  ~WaitingServer() { stop(); }

  void publish(std::int64_t id, std::string data, const std::string& topic = "topic") {
    feed.publish(topic, FeedEvent{id, "config", std::move(data)});
  }
  /// Returns after earlier events have been written, as far as possible.
  void settle() {
    RawClient client(port());
    client.get("/healthz");
    client.read_response();
  }

  std::atomic<int> polls = 0;
};

TEST(LongPoll, IsAnsweredWhenItsTopicMovesOn) {
  WaitingServer server;
  RawClient client(server.port());
  client.get("/poll");
  while (server.polls == 0) std::this_thread::yield();
  server.publish(1, "x", "other");
  server.publish(1, "x");
  EXPECT_EQ(client.read_response().body, "2");
  client.get("/poll");
  EXPECT_EQ(client.read_response().body, "2");
}

TEST(LongPoll, IsAnsweredAtItsTimeout) {
  WaitingServer server({}, 5 * kMillisecondNs);
  RawClient client(server.port());
  client.get("/poll");
  EXPECT_EQ(client.read_response().body, "0");
  EXPECT_EQ(server.polls, 2);
}

TEST(LongPoll, EndsWhenTheClientLeaves) {
  WaitingServer server;
  RawClient client(server.port());
  client.get("/poll");
  while (server.polls == 0) std::this_thread::yield();
  client.close();
  server.until([](const ServerCounts& c) { return c.open_connections == 0; });
  EXPECT_EQ(server.polls, 1);
}

TEST(LongPoll, EndsWhenTheClientLeavesBehindFurtherRequests) {
  WaitingServer server;
  constexpr std::size_t kReadMeanwhile = 64 << 10;
  for (const std::size_t bytes : {std::size_t{10}, kReadMeanwhile + 10'000}) {
    SCOPED_TRACE(bytes);
    const int polls = server.polls;
    RawClient client(server.port());
    client.get("/poll");
    while (server.polls == polls) std::this_thread::yield();
    const auto before = server.counts().received_bytes;
    client.send(std::string(bytes, 'x'));
    const auto read = std::min(bytes, kReadMeanwhile);
    server.until([&](const ServerCounts& c) { return c.received_bytes >= before + read; });
    bytes == read ? client.close() : client.reset();
    server.until([](const ServerCounts& c) { return c.open_connections == 0; });
    EXPECT_EQ(server.polls, polls + 1);
  }
}

TEST(LongPoll, KeepsARequestThatFollows) {
  WaitingServer server;
  RawClient client(server.port());
  client.get("/poll");
  while (server.polls == 0) std::this_thread::yield();
  const auto before = server.counts().received_bytes;
  client.get("/healthz");
  server.until([&](const ServerCounts& c) { return c.received_bytes > before; });
  server.publish(1, "x");
  EXPECT_EQ(client.read_response().body, "1");
  EXPECT_EQ(client.read_response().body, "ok");
}

TEST(LongPoll, IsAnsweredWhenTheServerStops) {
  WaitingServer server;
  RawClient client(server.port());
  client.get("/poll");
  while (server.polls == 0) std::this_thread::yield();
  server.ask_to_stop();
  EXPECT_EQ(client.read_response().body, "0");
  EXPECT_TRUE(client.is_closed());
}

TEST(EventStream, BringsTheNewestEventAndThenEachOne) {
  WaitingServer server;
  server.publish(1, "missed");
  server.publish(2, "first");
  RawClient client(server.port());
  client.get("/watch");
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"));
  EXPECT_EQ(client.read_until("\n\n"), "id: 2\nevent: config\ndata: first\n\n");
  server.publish(9, "of another topic", "other");
  EXPECT_EQ(client.read_until("\n\n"), "id: 9\nevent: config\ndata: of another topic\n\n");
  server.feed.publish("nobody's", FeedEvent{1, "config", "x"});
  server.feed.publish("topic", FeedEvent{{}, "candidate", "two\nlines"});
  EXPECT_EQ(client.read_until("\n\n"), "event: candidate\ndata: two\ndata: lines\n\n");
}

TEST(EventStream, ASlowClientGetsTheNewestOnly) {
  ServerOptions options;
  options.send_buffer_bytes = 4096;
  WaitingServer server(options);
  RawClient slow(server.port(), 4096), quick(server.port());
  for (RawClient* client : {&slow, &quick}) {
    client->get("/watch");
    client->read_until("\r\n\r\n");
  }
  server.until([](const ServerCounts& c) { return c.open_streams == 2; });
  constexpr int kEvents = 30;
  const std::string data(1 << 15, 'x');
  for (int id = 1; id <= kEvents; ++id) {
    server.publish(id, data);
    EXPECT_THAT(quick.read_until("\n\n"), StartsWith("id: " + std::to_string(id) + "\n"));
  }
  server.settle();
  int seen = 0, last = 0;
  while (last != kEvents) {
    const std::string event = slow.read_until("\n\n");
    ASSERT_THAT(event, StartsWith("id: "));
    const int id = std::atoi(event.c_str() + 4);
    ASSERT_GT(id, last);
    last = id;
    ++seen;
  }
  // The event that was being written, and the newest one.
  EXPECT_LE(seen, 2);
}

TEST(EventStream, SaysNothingNewOnlyAsAPing) {
  ServerOptions options;
  options.ping_interval_ns = 10 * kMillisecondNs;
  WaitingServer server(options);
  RawClient client(server.port());
  client.get("/watch");
  client.read_until("\r\n\r\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_until("\n\n"), ": ping\n\n");
}

TEST(EventStream, DropsAClientThatNeverReads) {
  ServerOptions options;
  options.send_buffer_bytes = 4096;
  options.limits.write_ns = 40 * kMillisecondNs;
  WaitingServer server(options);
  RawClient client(server.port(), 4096);
  client.get("/watch");
  server.publish(1, std::string(8 << 20, 'x'));
  EXPECT_THAT(server.service.closed(1), ElementsAre("job"));
  server.until([](const ServerCounts& c) { return c.open_connections == 0; });
}

TEST(EventStream, EndsOnceWhicheverSideCloses) {
  WaitingServer server;
  RawClient leaves(server.port()), stays(server.port()), heads(server.port());
  for (RawClient* client : {&leaves, &stays}) {
    client->get("/watch");
    client->read_until("\r\n\r\n");
  }
  heads.send("HEAD /watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(heads.read_response(false).head, HasSubstr("text/event-stream"));
  EXPECT_TRUE(heads.is_closed());
  server.service.closed(1);
  server.publish(1, "x");
  EXPECT_THAT(leaves.read_until("\n\n"), HasSubstr("data: x"));
  leaves.close();
  server.service.closed(2);
  server.publish(2, "y");
  stays.read_until("\n\n");
  EXPECT_THAT(stays.read_until("\n\n"), HasSubstr("data: y"));
  server.stop();
  EXPECT_TRUE(stays.is_closed());
  EXPECT_THAT(server.service.closed(3), ElementsAre("job", "job", "job"));
  EXPECT_EQ(server.counts().open_streams, 0u);
}

TEST(EventStream, EndsWhenTheServiceSaysThatItIsOver) {
  WaitingServer server;
  RawClient client(server.port());
  client.get("/watch");
  client.read_until("\r\n\r\n");
  server.service.streams_are_over = true;
  EXPECT_TRUE(client.is_closed());
  EXPECT_THAT(server.service.closed(1), ElementsAre("job"));
}

TEST(EventStream, PublishesFromManyThreadsWhileClientsComeAndGo) {
  WaitingServer server;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4, kRounds = 25;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        RawClient client(server.port());
        client.get("/watch");
        client.read_until("\r\n\r\n");
        server.publish(round, "x");
        EXPECT_THAT(client.read_until("\n\n"), HasSubstr("data: x"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  server.stop();
  EXPECT_EQ(server.service.closed(kThreads * kRounds).size(), kThreads * kRounds);
}

}  // namespace
}  // namespace hocket
