// The server of core/host/tcp_store.h among hostile clients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <cstring>
#include <filesystem>
#include <list>
#include <thread>

#include "core/host/tcp_store.h"
#include "core/host/tcp_store_wire.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = tcp_store_wire;
using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kLong{30'000}, kNever{1 << 30};

std::unique_ptr<TcpStoreServer> listen_with(const TcpStoreLimits& limits,
                                            const std::string& secret = {}) {
  return TcpStoreServer::listen({.secret = secret, .limits = limits}).value();
}

std::unique_ptr<TcpStoreClient> connect_to(const TcpStoreServer& server,
                                           const std::string& secret = {}) {
  return TcpStoreClient::connect("127.0.0.1", server.port(), kLong, secret).value();
}

void expect_serves(TcpStoreClient& client) {
  EXPECT_TRUE(client.set("works", {'y'}));
  EXPECT_EQ(client.get("works", kLong).value(), std::vector<char>{'y'});
}

/// A connection that sends and receives what a test says.
class RawClient {
 public:
  explicit RawClient(const TcpStoreServer& server) : socket_(context_, tcp::v4()) {
    socket_.connect({asio::ip::address_v4::loopback(), server.port()});
    socket_.set_option(tcp::no_delay(true));
  }

  /// Receives a message, or what came before the end.
  template <class Message>
  Message receive() {
    Message result{};
    boost::system::error_code ignored;
    asio::read(socket_, asio::buffer(&result, sizeof result), ignored);
    return result;
  }
  greeting::Greeting greeted() { return receive<greeting::Greeting>(); }
  void introduce() {
    (void)greeted();
    const greeting::Introduction stranger{.opening = greeting::opening_of(wire::kProtocol)};
    send(&stranger, sizeof stranger);
    (void)receive<greeting::Verdict>();
  }
  void send(const void* bytes, std::size_t size) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes, size), ignored);
  }
  void send_head(const wire::Request& request) { send(&request, sizeof request); }
  /// Blocks until the server has closed the connection.
  void wait_for_end() {
    char bytes[256];
    boost::system::error_code error;
    while (!error) socket_.read_some(asio::buffer(bytes), error);
  }

 private:
  asio::io_context context_;
  tcp::socket socket_;
};

TEST(TcpStoreServer, AValueOrKeyThatIsTooLongEndsItsConnectionAlone) {
  const auto server = listen_with({.key_bytes = 10, .value_bytes = 100, .patience = kNever});
  const auto honest = connect_to(*server);
  for (const wire::Request& head :
       {wire::Request{wire::kSet, 11, 1}, wire::Request{wire::kSet, 0xffffffff, 1},
        wire::Request{wire::kGet, 11, 1}, wire::Request{7, 1, 1}}) {
    RawClient client(*server);
    client.introduce();
    client.send_head(head);
    client.send("abcdefghijk", 11);
    client.wait_for_end();
  }
  for (const std::uint32_t length : {101U, 16U << 20, 0xffffffffU}) {
    RawClient client(*server);
    client.introduce();
    client.send_head({wire::kSet, 1, length});
    client.send("k", 1);
    client.wait_for_end();
  }
  expect_serves(*honest);
  const auto refused = honest->set("key", std::vector<char>(101));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "the ranks' meeting point takes keys of at most 10 and values of at most 100 bytes, "
            "found 3 and 101");
  expect_serves(*honest);
}

TEST(TcpStoreServer, KeysAreLimited) {
  const auto server = listen_with({.keys = 3});
  const auto client = connect_to(*server);
  for (const char* key : {"works", "a", "b", "a"}) EXPECT_TRUE(client->set(key, {'x'}));
  const auto refused = client->set("c", {'x'});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorCode::unavailable,
                                    "the ranks' meeting point is full: no further key is taken"}));
  expect_serves(*client);
}

TEST(TcpStoreServer, BytesAreLimitedInAllAndFreedWhenReplaced) {
  const auto server = listen_with({.total_bytes = 1000});
  const auto client = connect_to(*server);
  expect_serves(*client);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(client->set("a", std::vector<char>(400))) << "replaces its own bytes";
  }
  EXPECT_TRUE(client->set("b", std::vector<char>(400)));
  const auto refused = client->set("c", std::vector<char>(400));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorCode::unavailable,
                                    "the ranks' meeting point is full: no more bytes are taken"}));
  EXPECT_TRUE(client->set("a", {}));
  EXPECT_TRUE(client->set("c", std::vector<char>(400)));
  expect_serves(*client);
}

TEST(TcpStoreServer, BytesOnTheirWayCount) {
  const auto server = listen_with({.total_bytes = 1500});
  const auto client = connect_to(*server);
  const std::vector<char> value(400);
  EXPECT_TRUE(client->set("a", value));
  {
    RawClient slow(*server);
    slow.introduce();
    slow.send_head({wire::kSet, 1, 900});
    slow.send("k", 1);
    // The server reads from all connections in turn, so after some answers it has read the length.
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(client->set("b", {}));
    EXPECT_FALSE(client->set("a", value));
  }
  while (!client->set("a", value)) std::this_thread::yield();
}

TEST(TcpStoreServer, SilentConnectionsMakeRoomForOthers) {
  const auto server = listen_with({.connections = 4, .patience = kNever});
  std::list<RawClient> silent;
  for (int i = 0; i < 50; ++i) silent.emplace_back(*server);
  const auto honest = connect_to(*server);
  for (int i = 0; i < 50; ++i) silent.emplace_back(*server);
  silent.front().wait_for_end();
  (void)silent.back().greeted();
  expect_serves(*honest);
}

TEST(TcpStoreServer, WhenAllPlacesAreTakenOthersAreToldAndComeLater) {
  const auto server = listen_with({.connections = 2});
  auto first = connect_to(*server);
  const auto second = connect_to(*server);
  EXPECT_EQ(RawClient(*server).greeted().outcome.code,
            greeting::refusal_of({ErrorCode::unavailable, ""}).outcome.code);
  const auto refused = TcpStoreClient::connect("127.0.0.1", server->port(), milliseconds(1), "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::timed_out);
  first.reset();
  expect_serves(*connect_to(*server));
}

TEST(TcpStoreServer, AConnectionThatDoesNotGoOnIsEnded) {
  const auto server = listen_with({.patience = milliseconds(1)});
  RawClient(*server).wait_for_end();
  for (const std::size_t sent : {1U, 8U, 79U}) {
    const auto patient = listen_with({.patience = milliseconds(50)});
    RawClient client(*patient);
    const greeting::Introduction half{.opening = greeting::opening_of(wire::kProtocol)};
    client.send(&half, sent);
    client.wait_for_end();
  }
  for (const std::size_t sent : {1U, 11U, 12U, 13U}) {
    const auto patient = listen_with({.patience = milliseconds(50)});
    RawClient client(*patient);
    client.introduce();
    const wire::Request head{wire::kSet, 2, 8};
    char request[14] = {};
    std::memcpy(request, &head, sizeof head);
    client.send(request, sent);
    client.wait_for_end();
  }
}

TEST(TcpStoreServer, WithoutAProofNothingIsSetOrRead) {
  const auto server = listen_with({}, "between us");
  const auto honest = connect_to(*server, "between us");
  ASSERT_TRUE(honest->set("private", {'p'}));
  RawClient stranger(*server);
  stranger.introduce();
  stranger.send_head({wire::kSet, 1, 1});
  stranger.send("kv", 2);
  stranger.wait_for_end();
  EXPECT_FALSE(honest->get("k", milliseconds(0)));

  RawClient asks_first(*server);
  asks_first.send_head({wire::kGet, 7, 0});
  asks_first.send("private", 7);
  const std::vector<char> filler(sizeof(greeting::Introduction));
  asks_first.send(filler.data(), filler.size());
  asks_first.wait_for_end();
  expect_serves(*honest);
}

TEST(TcpStoreServer, TellsOtherVersionsWhyAndGoesOn) {
  const auto server = listen_with({}, "between us");
  RawClient other(*server);
  (void)other.greeted();
  const greeting::Introduction newer{.opening = {wire::kProtocol.magic, 77}};
  other.send(&newer, sizeof newer);
  const auto outcome = other.receive<greeting::Verdict>().outcome;
  EXPECT_EQ(outcome.code, greeting::refusal_of({ErrorCode::invalid_argument, ""}).outcome.code);
  EXPECT_GT(outcome.text_bytes, 0U);
  other.wait_for_end();
  expect_serves(*connect_to(*server, "between us"));
}

TEST(TcpStoreServer, AServerThatSendsTheProofBackIsNotBelieved) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::jthread impostor([&] {
    tcp::socket socket = acceptor.accept();
    const greeting::Greeting own{.opening = greeting::opening_of(wire::kProtocol)};
    asio::write(socket, asio::buffer(&own, sizeof own));
    greeting::Introduction client;
    asio::read(socket, asio::buffer(&client, sizeof client));
    const greeting::Verdict verdict{.proof = client.proof};
    asio::write(socket, asio::buffer(&verdict, sizeof verdict));
  });
  const auto client =
      TcpStoreClient::connect("127.0.0.1", acceptor.local_endpoint().port(), kLong, "between us");
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, testing::HasSubstr("rank 0 does not know"));
}

TEST(TcpStoreServer, AClientThatLeavesWhileItWaitsIsForgotten) {
  const auto server = listen_with({.connections = 3});
  const auto honest = connect_to(*server);
  {
    RawClient waits(*server);
    waits.introduce();
    waits.send_head({wire::kGet, 4, 60'000});
    waits.send("soon", 4);
  }
  EXPECT_TRUE(honest->set("soon", {'x'}));
  expect_serves(*honest);
}

std::ptrdiff_t threads_now() {
  return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"),
                               std::filesystem::directory_iterator());
}

TEST(TcpStoreServer, OneThreadServesEverybody) {
  const auto server = listen_with({});
  const auto before = threads_now();
  std::vector<std::unique_ptr<TcpStoreClient>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(connect_to(*server));
  for (const auto& client : clients) expect_serves(*client);
  EXPECT_EQ(threads_now(), before);
}

TEST(TcpStoreServer, LimitsForRanksHoldTheirAddresses) {
  for (const std::size_t ranks : {2U, 64U, 1024U}) {
    const auto limits = TcpStoreLimits::for_ranks(ranks, 3);
    EXPECT_GE(limits.value_bytes, ranks * 136);
    EXPECT_GE(limits.keys, 3 * 2 * ranks);
    EXPECT_GE(limits.total_bytes, 3 * ranks * (ranks * 136 + 256 + 2 * 256));
    EXPECT_GE(limits.connections, ranks);
  }
}

}  // namespace
}  // namespace hocket
