// A rank among servers that are late, dead, or something else.

#include "core/servers/tcp_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/core/servers/parameter_server_peer.h"
#include "tests/core/servers/servers_world.h"
#include "tests/mutate.h"
#include "tests/reserved_port.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

namespace wire = server_wire;
using testing::HasSubstr;

TcpServersOptions only_rank(const std::string& address, std::int64_t timeout_ns = kUnhurriedNs) {
  TcpServersOptions options;
  options.addresses = {address};
  options.timeout_ns = timeout_ns;
  return options;
}

TEST(TcpServers, RefusesAddressesThatItCannotRead) {
  for (const std::string address :
       {"", "host", "host:", ":80", "host:0", "host:65536", "host:8o", "host:123456", "[]:80"}) {
    const auto connected = connect_servers(only_rank(address));
    ASSERT_FALSE(connected) << address;
    EXPECT_EQ(connected.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(connected.error().message, HasSubstr("\"" + address + "\""));
  }
  EXPECT_FALSE(connect_servers({}));
  auto options = only_rank("host:80");
  options.rank = 1;
  EXPECT_THAT(connect_servers(options).error().message, HasSubstr("no rank 1 of 1"));
}

TEST(TcpServers, WaitsForServersThatStartLater) {
  const ReservedPort port;
  ParameterServerOptions server_options;
  server_options.port = port.port();
  const auto options = only_rank("localhost:" + std::to_string(port.port()));
  std::jthread rank([&] {
    const auto connected = connect_servers(options);
    ASSERT_TRUE(connected) << connected.error().message;
    ASSERT_TRUE(push_ones(**connected, {}));
  });
  const auto server = ParameterServer::listen(server_options).value();
  EXPECT_TRUE(server->wait());
}

/// Time that passes only while something waits for it.
class WaitingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_; }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    now_ns_ = std::max(now_ns_, deadline_ns);
    ++sleeps;
  }
  mutable int sleeps = 0;

 private:
  mutable std::int64_t now_ns_ = 0;
};

TEST(TcpServers, GivesUpOnAServerThatDoesNotStartInTime) {
  const ReservedPort port;
  const std::string address = "127.0.0.1:" + std::to_string(port.port());
  const WaitingClock clock;
  auto options = only_rank(address);
  options.clock = &clock;
  const auto connected = connect_servers(options);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::timed_out);
  EXPECT_THAT(connected.error().message,
              testing::AllOf(HasSubstr("120000 ms"),
                             HasSubstr("parameter server 0 (" + address + ") cannot be reached"),
                             HasSubstr("Connection refused")));
  EXPECT_GT(clock.sleeps, 1000);
}

TEST(TcpServers, ARankThatDoesNotReachEveryServerIsGone) {
  ParameterServerOptions server_options;
  server_options.servers = 2;
  const auto first = ParameterServer::listen(server_options).value();
  const ReservedPort second;
  const WaitingClock clock;
  auto options = only_rank("127.0.0.1:" + std::to_string(first->port()));
  options.addresses.push_back("127.0.0.1:" + std::to_string(second.port()));
  options.clock = &clock;
  EXPECT_THAT(connect_servers(options).error().message, HasSubstr("parameter server 1"));
  const auto ended = first->wait();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("rank 0 went away without a goodbye"));
}

/// Returns a server's message that lets a rank without a secret in.
std::string welcome() {
  return bytes_of(greeting::Greeting{.opening = greeting::opening_of(wire::kProtocol)}) +
         bytes_of(greeting::Verdict{});
}

/// Returns its answers that take a push, name a sum, or send one.
std::string answers() {
  const float sum = 3;
  return bytes_of(wire::Reply{}) + bytes_of(sum) + bytes_of(wire::Reply{.more_bytes = 16}) +
         bytes_of(wire::SumName{});
}

TEST(TcpServers, GetsAnAnswerOrAnErrorFromWhateverListensThere) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool lets_in = seed % 2 == 0;
    const std::string rest = seed == 0 ? answers() : mutate(answers(), random);
    const RawServer server(lets_in ? welcome() + rest : mutate(welcome(), random) + rest);
    const auto connected =
        connect_servers(only_rank(server.address(), lets_in ? kUnhurriedNs : kShortNs / 3));
    ASSERT_TRUE(connected || !lets_in);
    if (!connected) {
      EXPECT_THAT(connected.error().message, HasSubstr("parameter server 0"));
      continue;
    }
    std::vector<float> sum(1);
    const auto pulled = (*connected)->pull({}, sum);
    if (seed == 0) {
      ASSERT_TRUE(pulled);
      EXPECT_EQ(sum, std::vector<float>{3});
    }
    (void)push_ones(**connected, {});
    if (random() % 4 == 0) (*connected)->end_waiting();
    (void)(*connected)->next_sum(0);
    (void)(*connected)->next_sum(0);
    (*connected)->abort();
  }
}

TEST(TcpServers, SaysWhatIsWrongWithAServer) {
  const RawServer newer(bytes_of(greeting::Greeting{.opening = {wire::kProtocol.magic, 9}}));
  auto error = connect_servers(only_rank(newer.address())).error();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("(" + newer.address() + ") speaks version 9"));

  const RawServer web("HTTP/1.1 400 Bad Request\r\n\r\n");
  error = connect_servers(only_rank(web.address())).error();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message,
              HasSubstr("(" + web.address() + ") does not speak the parameter servers' protocol"));

  const RawServer impostor(welcome());
  auto options = only_rank(impostor.address());
  options.secret = "secret";
  error = connect_servers(options).error();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("does not know HOCKET_RENDEZVOUS_SECRET"));

  const RawServer verbose(
      bytes_of(greeting::Greeting{.opening = greeting::opening_of(wire::kProtocol)}) +
      bytes_of(greeting::Verdict{.outcome = {.code = 1, .text_bytes = 0xffffffff}}));
  error = connect_servers(only_rank(verbose.address())).error();
  EXPECT_THAT(error.message, HasSubstr("answers what no server of this version does"));
}

TEST(TcpServers, NoticesADeadServerAtOnceAndASilentOneInTime) {
  ParameterServerOptions server_options;
  server_options.secret = "of no other program's server at that port";
  TcpWorld world({.ranks = 2}, server_options);
  const auto zero = world.join(0);
  world.server().stop();
  const auto pushed = push_ones(*zero, {}, 1 << 20);
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code, ErrorCode::unavailable);
  EXPECT_THAT(pushed.error().message, HasSubstr(world.name()));

  boost::asio::io_context context;  // never accepts
  const boost::asio::ip::tcp::acceptor silent(context,
                                              {boost::asio::ip::address_v4::loopback(), 0});
  const auto connected = connect_servers(
      only_rank("127.0.0.1:" + std::to_string(silent.local_endpoint().port()), kShortNs));
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::timed_out);
  EXPECT_THAT(connected.error().message, HasSubstr("has been silent for 30 ms"));
}

}  // namespace
}  // namespace hocket
