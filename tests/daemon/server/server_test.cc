#include "daemon/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>

#include "daemon/http/line_limit.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/running_server.h"

namespace hocket {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(Server, AnswersInOrderHoweverTheBytesAreCut) {
  RunningServer server;
  server.service.at_once = [](const ServiceRequest& request) -> std::optional<ServiceResponse> {
    if (request.target == "/soon") return text_response("soon");
    return std::nullopt;
  };
  server.start();
  const std::string requests =
      "GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "POST /second HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"
      "GET /soon HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "PUT /third HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      "DELETE /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    RawClient client(server.port());
    for (std::size_t at = 0; at < requests.size();) {
      const std::size_t bytes = seed == 0 ? requests.size() : 1 + random() % 60;
      ASSERT_TRUE(client.send(requests.substr(at, bytes)));
      at += bytes;
    }
    EXPECT_EQ(client.read_response().body, "GET /first ");
    EXPECT_EQ(client.read_response().body, "POST /second body");
    EXPECT_EQ(client.read_response().body, "soon");
    EXPECT_EQ(client.read_response().body, "PUT /third abcde");
    const RawResponse last = client.read_response();
    EXPECT_EQ(last.body, "DELETE /last ");
    EXPECT_THAT(last.head, HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(Server, HeadGetsTheHeadOfGet) {
  RunningServer server;
  server.start();
  RawClient client(server.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_response(false).head, HasSubstr("Content-Length: 7\r\n"));
  client.get("/b");
  EXPECT_EQ(client.read_response().body, "GET /b ");
}

TEST(Server, NotModifiedHasATagAndNoBody) {
  RunningServer server;
  server.service.at_once = [](const ServiceRequest& request) {
    ServiceResponse response =
        text_response("version 3", request.if_none_match == "\"3\"" ? 304 : 200);
    response.etag = "\"3\"";
    return response;
  };
  server.start();
  RawClient client(server.port());
  client.get("/", "If-None-Match: \"3\"\r\n");
  const RawResponse same = client.read_response();
  EXPECT_EQ(same.status, 304);
  EXPECT_THAT(same.head, HasSubstr("ETag: \"3\"\r\nCache-Control: no-cache\r\n"));
  EXPECT_THAT(same.head, Not(HasSubstr("Content-Length")));
  client.get("/", "If-None-Match: \"2\"\r\n");
  EXPECT_EQ(client.read_response().body, "version 3");
}

TEST(Server, KeepsAnHttp10ConnectionOnlyWhenAsked) {
  RunningServer server;
  server.start();
  RawClient kept(server.port());
  kept.send("GET /a HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(kept.read_response().head, HasSubstr("Connection: keep-alive\r\n"));
  kept.send("GET /b HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(kept.read_response().body, "GET /b ");
  EXPECT_TRUE(kept.is_closed());
}

TEST(Server, TellsAClientToContinue) {
  RunningServer server;
  server.start();
  RawClient client(server.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(client.read_response().body, "POST / ok");
}

TEST(Server, PassesTargetsAndFieldsOnAsTheyCame) {
  RunningServer server;
  server.service.later = [](const ServiceRequest& r, bool) {
    return text_response(r.target + "|" + r.authorization + "|" + r.last_event_id + "|" + r.peer);
  };
  server.start();
  RawClient client(server.port());
  const std::string target = "/v1/../%2e%2e//a%00%zz\xff\xc0\xaf?x=%0d%0a&x";
  client.get(target, "authorization: Bearer \xff\r\nLAST-EVENT-ID: 7\r\n");
  EXPECT_EQ(client.read_response().body, target + "|Bearer \xff|7|127.0.0.1");
}

TEST(Server, RefusesWhatIsNoRequestAndGoesOn) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  RunningServer server(options);
  server.start();
  const std::string post =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(1'000'000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(1'000'000, 'x') + " HTTP/1.1\r\n\r\n", 431},
      {post + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x'), 413},
      {post + "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'), 413},
      {post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: b\r\nAuthorization: c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nX\x01: b\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 400},
      {std::string("\x16\x03\x01\x02\0\x01\0", 7) + "\r\n\r\n", 400},
      {"\r\n\r\n", 400},
  };
  for (const auto& [bytes, status] : cases) {
    SCOPED_TRACE(bytes.substr(0, 100));
    RawClient client(server.port());
    client.send(bytes);
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, status);
    EXPECT_THAT(response.head, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(response.body, HasSubstr("\"error\""));
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(server.counts().malformed, cases.size());
  RawClient client(server.port());
  client.get("/");
  EXPECT_EQ(client.read_response().status, 200);
}

TEST(Server, EndsWhatDoesNotBecomeARequestInTime) {
  ServerOptions options;
  options.limits.request_ns = 40 * kMillisecond;
  RunningServer server(options);
  const std::uint16_t port = server.port();
  RawClient silent(port), slow[] = {RawClient(port), RawClient(port), RawClient(port)};
  slow[0].send("G");
  slow[1].send("GET / HTTP/1.1\r\nHost: localhost\r\nX: y");
  slow[2].send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 10\r\n\r\n12345");
  server.start();
  for (RawClient& client : slow) {
    EXPECT_EQ(client.read_response().status, 408);
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(server.counts().responses_by_class[4], 3u);
}

TEST(Server, ClosesAConnectionThatIsIdle) {
  ServerOptions options;
  options.limits.idle_ns = 20 * kMillisecond;
  RunningServer server(options);
  server.start();
  RawClient client(server.port());
  client.get("/");
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server.counts().timeouts, 0u);
}

TEST(Server, DropsAClientThatDoesNotReadItsResponse) {
  ServerOptions options;
  options.limits.write_ns = 40 * kMillisecond;
  options.send_buffer_bytes = 4096;
  RunningServer server(options);
  server.service.at_once = [](const ServiceRequest&) {
    return text_response(std::string(8 << 20, 'x'));
  };
  server.start();
  RawClient client(server.port(), 4096);
  client.get("/");
  server.until([](const ServerCounts& c) { return c.timeouts == 1 && c.open_connections == 0; });
}

TEST(Server, ALimitOfRequestsHoldsFromTheFirstSecond) {
  ServerOptions options;
  options.limits.requests_per_second = 2;
  RunningServer server(options);
  server.start();
  RawClient client(server.port());
  const auto begin = std::chrono::steady_clock::now();
  int allowed = 0;
  for (int i = 0; i < 90; ++i) {
    client.get("/");
    allowed += client.read_response().status == 200 ? 1 : 0;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(allowed, 2);
  EXPECT_LE(allowed, 2 + 2 * seconds.count());
}

TEST(Server, RefusalsFillNoLog) {
  std::mutex mutex;
  std::vector<std::string> lines;
  RunningServer server({}, Log({.sink = [&](std::string_view line) {
                         const std::lock_guard lock(mutex);
                         lines.emplace_back(line);
                       }}));
  server.start();
  const std::string json = "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
  for (int i = 0; i < 200; ++i) {
    for (const std::string& request :
         {std::string("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://e.example\r\n\r\n"),
          "PUT / HTTP/1.1\r\nHost: localhost\r\n" + json, std::string("GET / HTTP/1.1\r\n\r\n"),
          std::string("nonsense\r\n\r\n")}) {
      RawClient client(server.port());
      client.send(request);
      EXPECT_GE(client.read_response().status, 400);
    }
  }
  server.stop();
  std::size_t refusals = 0;
  for (const std::string& line : lines)
    refusals += line.find("refused") != std::string::npos ? 1 : 0;
  EXPECT_EQ(refusals, static_cast<std::size_t>(kLinesOfACause));
}

TEST(Server, LimitsRequestsOfAClient) {
  ServerOptions options;
  options.limits.requests_per_second = 0.001;
  options.limits.burst = 2;
  RunningServer server(options);
  server.start();
  RawClient client(server.port());
  for (const int status : {200, 200, 429, 429}) {
    client.get("/");
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, status);
    if (status == 429) {
      EXPECT_THAT(response.head, HasSubstr("Retry-After: "));
    }
  }
  EXPECT_EQ(server.counts().rate_limited, 2u);
}

TEST(Server, TurnsAwayConnectionsOverTheLimit) {
  ServerOptions options;
  options.limits.connections = 1;
  RunningServer server(options);
  server.start();
  RawClient first(server.port());
  first.get("/");
  EXPECT_EQ(first.read_response().status, 200);
  RawClient second(server.port());
  const RawResponse refused = second.read_response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  first.close();
  server.until([](const ServerCounts& c) { return c.open_connections == 0; });
  RawClient third(server.port());
  third.get("/");
  EXPECT_EQ(third.read_response().status, 200);
}

TEST(Server, RefusesWhatAWebPageSendsBeforeItsBody) {
  ServerOptions options;
  options.names = *HostNames::parse({"tuner.example.org"});
  RunningServer server(options);
  std::atomic<int> asked = 0;
  server.service.at_once = [&](const ServiceRequest&) {
    ++asked;
    return std::nullopt;
  };
  server.start();
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  const std::string json = "Content-Type: application/json\r\nContent-Length: 1000\r\n";
  const std::pair<std::string, int> refused[] = {
      {"PUT / HTTP/1.1\r\nHost: evil.example\r\n" + json, 421},
      {"GET / HTTP/1.0\r\n", 421},
      {"PUT / HTTP/1.1\r\n" + host + "Origin: http://evil.example\r\n" + json, 403},
      {"PUT / HTTP/1.1\r\n" + host + "Sec-Fetch-Site: same-site\r\n" + json, 403},
      {"PUT / HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 9\r\n", 415},
      {"PUT / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n", 415},
      {"PUT / HTTP/1.1\r\n" + host + "Origin: null\r\nOrigin: http://a\r\n" + json, 400}};
  for (const auto& [head, status] : refused) {
    SCOPED_TRACE(head);
    RawClient client(server.port());
    client.send(head + "\r\n");
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, status);
    EXPECT_THAT(response.body, HasSubstr("\"message\""));
    client.end_sending();
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(server.counts().foreign, std::size(refused) - 1);
  EXPECT_EQ(server.counts().malformed, 1u);
  RawClient client(server.port());
  for (const std::string& own :
       {host, std::string("Host: localhost\r\n"), std::string("Host: Tuner.example.org:443\r\n")}) {
    client.send("GET / HTTP/1.1\r\n" + own + "\r\n");
    EXPECT_EQ(client.read_response().status, 200) << own;
  }
}

TEST(Server, AServiceThatThrowsIsA500) {
  RunningServer server;
  server.service.at_once = [](const ServiceRequest& r) -> std::optional<ServiceResponse> {
    if (r.target == "/soon") throw std::runtime_error("secret");
    return std::nullopt;
  };
  server.service.later = [](const ServiceRequest& r, bool) -> ServiceReply {
    if (r.target == "/later") throw std::runtime_error("secret");
    return text_response("fine");
  };
  server.start();
  RawClient client(server.port());
  for (const char* target : {"/soon", "/later"}) {
    client.get(target);
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, 500);
    EXPECT_THAT(response.body, Not(HasSubstr("secret")));
  }
  client.get("/");
  EXPECT_EQ(client.read_response().body, "fine");
  EXPECT_EQ(server.errors.count(ErrorOrigin::handler), 2u);
}

TEST(Server, RequestsThatComputeForLongDoNotDelayOthers) {
  ServerOptions options;
  options.worker_threads = 1;
  options.search_threads = 1;
  RunningServer server(options);
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  server.service.is_long = [](const ServiceRequest& r) { return r.target == "/ask"; };
  server.service.later = [&](const ServiceRequest& r, bool) -> ServiceReply {
    if (r.target == "/ask") end.wait();
    return text_response("done " + r.target);
  };
  server.start();
  RawClient first(server.port()), second(server.port()), other(server.port());
  first.get("/ask");
  second.get("/ask");
  for (int i = 0; i < 3; ++i) {
    other.get("/jobs");
    EXPECT_EQ(other.read_response().body, "done /jobs");
  }
  may_end.set_value();
  EXPECT_EQ(first.read_response().body, "done /ask");
  EXPECT_EQ(second.read_response().body, "done /ask");
}

TEST(Server, RefusesPlainTextOffLoopback) {
  FunctionService service;
  Feed feed;
  ServerOptions options;
  options.port = 0;
  for (const char* address : {"0.0.0.0", "::"}) {
    options.address = address;
    options.insecure = false;
    const auto refused = Server::create(options, service, feed, Log());
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("--insecure"));
  }
  options.address = "0.0.0.0";
  options.insecure = true;
  EXPECT_TRUE(Server::create(options, service, feed, Log()).has_value());
  options.address = "localhost";
  const auto refused = Server::create(options, service, feed, Log());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("'localhost' is no IPv4 or IPv6 address"));
}

TEST(Server, SaysThatAPortIsTaken) {
  RunningServer server;
  FunctionService service;
  Feed feed;
  ServerOptions options;
  options.port = server.port();
  const auto refused = Server::create(options, service, feed, Log());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
}

TEST(Server, StopFinishesWhatWasAccepted) {
  RunningServer server;
  std::promise<void> is_handling, may_end;
  server.service.at_once = [](const ServiceRequest& request) -> std::optional<ServiceResponse> {
    if (request.target == "/soon") return text_response(request.body);
    return std::nullopt;
  };
  server.service.later = [&](const ServiceRequest&, bool) {
    is_handling.set_value();
    may_end.get_future().wait();
    return text_response("whole");
  };
  server.start();
  RawClient idle(server.port()), partial(server.port()), working(server.port());
  server.until([](const ServerCounts& c) { return c.open_connections == 3; });
  partial.send(
      "POST /soon HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n1");
  working.get("/");
  is_handling.get_future().wait();
  server.ask_to_stop();
  EXPECT_TRUE(idle.is_closed());
  partial.send("2");
  EXPECT_EQ(partial.read_response().body, "12");
  may_end.set_value();
  const RawResponse response = working.read_response();
  EXPECT_EQ(response.body, "whole");
  EXPECT_THAT(response.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(working.is_closed());
  server.stop();
}

TEST(Server, StopDoesNotWaitForEverForAClient) {
  ServerOptions options;
  options.grace_ns = 20 * kMillisecond;
  RunningServer server(options);
  server.start();
  RawClient partial(server.port());
  partial.send("GET / HTTP/1.1\r\n");
  server.until([](const ServerCounts& c) { return c.received_bytes > 0; });
  server.stop();
  EXPECT_TRUE(partial.is_closed());
}

TEST(Server, StopAnswersWhoIsConnectedAlready) {
  RunningServer server;
  RawClient asks(server.port()), idle(server.port());
  asks.get("/");
  server.ask_to_stop();
  server.start();
  EXPECT_EQ(asks.read_response().body, "GET / ");
  EXPECT_TRUE(idle.is_closed());
  server.stop();
}

TEST(Server, StopsBeforeItRuns) {
  RunningServer server;
  server.ask_to_stop();
  server.start();
  server.stop();
}

}  // namespace
}  // namespace hocket
