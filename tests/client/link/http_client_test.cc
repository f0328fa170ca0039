#include "client/link/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

#include "tests/client/fake_daemon.h"
#include "tests/reserved_port.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLongNs = 20'000'000'000, kShortNs = 100'000'000,
                       kHourNs = 3'600'000'000'000;

Result<HttpResponse> get(const FakeDaemon& daemon, std::int64_t timeout_ns = kLongNs) {
  return HttpClient(daemon.access()).send({}, deadline_after_ns(timeout_ns));
}

TEST(HttpClient, SendsARequestAndReadsTheAnswerOnOneConnection) {
  FakeDaemon daemon(FakeDaemon::answering([](const FakeDaemon::Request& request) {
    return "HTTP/1.1 200 OK\r\nETag: \"12\"\r\nContent-Length: " +
           std::to_string(request.head.size() + request.body.size()) + "\r\n\r\n" + request.head +
           request.body;
  }));
  DaemonAccess access = daemon.access();
  access.token = "secret";
  HttpClient client(access);
  for (const char* body : {R"({"a":1})", ""}) {
    const auto response = client.send({.method = "POST",
                                       .target = "/v1/reports",
                                       .body = body,
                                       .headers = {{"If-None-Match", "\"11\""}}},
                                      deadline_after_ns(kLongNs));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->etag, "\"12\"");
    EXPECT_THAT(response->body,
                testing::AllOf(testing::StartsWith("POST /v1/reports HTTP/1.1\r\n"),
                               HasSubstr("Host: " + daemon.url().substr(7) + "\r\n"),
                               HasSubstr("Authorization: Bearer secret\r\n"),
                               HasSubstr("If-None-Match: \"11\"\r\n"), testing::EndsWith(body)));
  }
  EXPECT_EQ(daemon.connections(), 1);
}

TEST(HttpClient, AConnectionThatTheDaemonClosedIsOpenedAgain) {
  FakeDaemon daemon([](FakeDaemon::Peer& peer) {
    if (peer.read()) peer.write(http_answer(200, "{}"));
  });
  HttpClient client(daemon.access());
  for (int i = 0; i < 3; ++i) {
    const auto response = client.send({}, deadline_after_ns(kLongNs));
    EXPECT_TRUE(response) << response.error().message;
  }
  EXPECT_EQ(daemon.connections(), 3);
}

TEST(HttpClient, ADaemonThatDoesNotAnswerIsNotWaitedFor) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
  const auto saying = [](std::string text) {
    return [text = std::move(text)](FakeDaemon::Peer& peer) {
      peer.write(text);
      peer.wait_until_gone();
    };
  };
  for (const auto& script : std::vector<std::function<void(FakeDaemon::Peer&)>>{
           nullptr, saying(""), saying("HTTP/1.1 200 O"), saying(head), saying(head + "{\"a\":")}) {
    const auto response = get(FakeDaemon(script), kShortNs);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ErrorCode::timed_out) << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr("daemon http://127.0.0.1:"));
  }
}

TEST(HttpClient, WhatIsNoAnswerIsAnError) {
  std::string endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 5; ++i) endless += "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
  endless += "0\r\n\r\n";
  for (const std::string& text :
       {std::string("garbage\r\n\r\n"), std::string("\0\xff\n\n\n", 5),
        std::string("HTTP/9.9 2\r\n"),
        "HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'x') + "\r\n\r\n", endless,
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}"), std::string()}) {
    const auto response = get(FakeDaemon([&](FakeDaemon::Peer& peer) {
      if (peer.read()) peer.write(text);
    }));
    ASSERT_FALSE(response) << text.substr(0, 100);
    EXPECT_EQ(response.error().code, ErrorCode::unavailable);
  }
  const ReservedPort port;
  const DaemonAccess nobody = {.address = parse_daemon_address(port.url()).value()};
  const auto refused = HttpClient(nobody).send({}, deadline_after_ns(kLongNs));
  EXPECT_THAT(refused.error().message,
              HasSubstr("cannot connect: Connection refused (`hocket serve` starts a daemon)"));
}

TEST(HttpClient, FindsAHostByItsName) {
  FakeDaemon daemon(FakeDaemon::answering([](const auto&) { return http_answer(200, "{}"); }));
  DaemonAccess access = daemon.access();
  access.address.host = "localhost";  // may also resolve to ::1, where nobody listens
  const auto response = HttpClient(access).send({}, deadline_after_ns(kLongNs));
  EXPECT_TRUE(response) << response.error().message;
  access.address.host = "no-such-host.invalid";
  EXPECT_FALSE(HttpClient(access).send({}, deadline_after_ns(kShortNs)));
}

TEST(HttpClient, AnAnswersStatusDecidesTheError) {
  const auto answered = [](int status, std::string body) {
    return read_answer({.status = status, .body = std::move(body)});
  };
  EXPECT_EQ(answered(200, R"({"a":1})").value()["a"], 1);
  const std::string error = R"({"error":{"code":"invalid_argument","message":"no\nsuch knob"}})";
  EXPECT_THAT(answered(400, error).error().message, HasSubstr("answered 400: no such knob"));
  const std::pair<int, ErrorCode> codes[] = {
      {400, ErrorCode::invalid_argument}, {401, ErrorCode::invalid_argument},
      {404, ErrorCode::not_found},        {408, ErrorCode::unavailable},
      {429, ErrorCode::unavailable},      {500, ErrorCode::unavailable},
      {304, ErrorCode::unavailable},      {0, ErrorCode::unavailable}};
  for (const auto& [status, code] : codes) EXPECT_EQ(answered(status, error).error().code, code);
  EXPECT_EQ(answered(200, "<html>").error().code, ErrorCode::unavailable);
  EXPECT_THAT(answered(502, "<html>").error().message, testing::EndsWith("answered 502"));
}

TEST(HttpClient, EndsACallWhenAskedByAnotherThread) {
  Inbox<int> asked;
  FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
    while (peer.read()) asked.add(1);
  });
  HttpClient client(daemon.access());
  std::thread other([&] {
    asked.wait();
    client.end_by(std::chrono::steady_clock::now());
  });
  const auto first = client.send({}, deadline_after_ns(kHourNs));
  other.join();
  const auto second = client.send({}, deadline_after_ns(kLongNs));
  EXPECT_EQ(first.error().code, ErrorCode::interrupted) << first.error().message;
  EXPECT_EQ(second.error().code, ErrorCode::interrupted) << second.error().message;
}

struct Streamed {
  std::string bytes;
  bool opened = false;
  Error error;
};

Streamed stream(const FakeDaemon& daemon, std::int64_t silence_limit_ns = kLongNs) {
  Streamed result;
  HttpClient client(daemon.access());
  result.error = client.stream({.target = "/v1/watch"}, {.on_open = [&] { result.opened = true; },
                                                         .on_bytes =
                                                             [&](std::string_view bytes) {
                                                               result.bytes += bytes;
                                                               return result.bytes != "enough";
                                                             },
                                                         .open_timeout_ns = kLongNs,
                                                         .silence_limit_ns = silence_limit_ns});
  return result;
}

constexpr const char* kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(HttpClient, StreamsWhatComesInPiecesUntilItEnds) {
  const std::string text = std::string(kStreamHead) + "6\r\ndata: \r\n3\r\n1\n\n\r\n0\r\n\r\n";
  const auto result = stream(FakeDaemon([&](FakeDaemon::Peer& peer) {
    peer.read();
    for (const char c : text) peer.write({&c, 1});
    peer.wait_until_gone();
  }));
  EXPECT_EQ(result.bytes, "data: 1\n\n");
  EXPECT_TRUE(result.opened);
  EXPECT_THAT(result.error.message, HasSubstr("ended the stream"));
}

TEST(HttpClient, AStreamEndsInSilenceOrWhenItBreaksOrIsNotWanted) {
  const auto after = [](const std::string& text, bool stay) {
    return stream(FakeDaemon([&](FakeDaemon::Peer& peer) {
                    peer.read();
                    peer.write(kStreamHead + text);
                    if (stay) peer.wait_until_gone();
                  }),
                  stay ? kShortNs : kLongNs);
  };
  EXPECT_EQ(after("1\r\nx\r\n", true).error.code, ErrorCode::timed_out);
  EXPECT_EQ(after("1\r\nx\r\n", false).error.code, ErrorCode::unavailable);
  EXPECT_EQ(after("garbage", false).error.code, ErrorCode::unavailable);
  EXPECT_EQ(after("6\r\nenough\r\n", false).error.code, ErrorCode::interrupted);
}

TEST(HttpClient, AStreamThatIsNoneGivesWhatTheDaemonSaid) {
  const auto answered = [](std::string text) {
    return stream(FakeDaemon(FakeDaemon::answering([=](const auto&) { return text; })));
  };
  const auto unknown = answered(http_answer(404, R"({"error":{"message":"unknown job"}})"));
  EXPECT_EQ(unknown.error.code, ErrorCode::not_found);
  EXPECT_THAT(unknown.error.message, HasSubstr("unknown job"));
  EXPECT_FALSE(unknown.opened);
  EXPECT_THAT(answered(http_answer(200, "<html>", "text/html")).error.message,
              HasSubstr("is not a hocket daemon"));
  EXPECT_EQ(answered(http_answer(500, "oh")).error.code, ErrorCode::unavailable);
}

TEST(HttpClient, TakesNothingUnaskedForTheNextAnswer) {
  const FakeDaemon daemon([](FakeDaemon::Peer& peer) {
    while (peer.read()) {
      peer.write(http_answer(200, "{}") + http_answer(200, R"({"unasked":1})"));
    }
  });
  HttpClient client(daemon.access());
  for (int i = 0; i < 3; ++i) {
    const auto response = client.send({}, deadline_after_ns(kLongNs));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "{}");
  }
}

TEST(HttpClient, LinesAmongChunksHaveALimit) {
  for (const std::string_view begin : {"1;", "0\r\nA: "}) {
    const FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
      (void)peer.read();
      peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(begin));
      while (peer.write(std::string(1 << 16, 'a'))) {
      }
    });
    const auto response = HttpClient(daemon.access()).send({}, deadline_after_ns(kLongNs));
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message, ::testing::HasSubstr("buffer overflow"));
  }
}

}  // namespace
}  // namespace hocket
