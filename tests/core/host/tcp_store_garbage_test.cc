// The rendezvous of core/host/tcp_store.h, when one side sends damaged messages: the server goes on
// serving its ranks, and a client gets an answer or an error. libFuzzer cannot run these: clang 14
// compiles no coroutines of libstdc++.

#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "core/host/tcp_store.h"
#include "core/host/tcp_store_wire.h"
#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = tcp_store_wire;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kUnhurried{30'000};

template <class Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

/// A whole conversation of a client without a secret, from its introduction on.
std::string client_messages() {
  std::string text =
      bytes_of(greeting::Introduction{.opening = greeting::opening_of(wire::kProtocol)});
  for (const char* const key : {"a", "bc", "def"}) {
    const auto size = static_cast<std::uint32_t>(std::string(key).size());
    text += bytes_of(wire::Request{wire::kSet, size, 2}) + key + "xy";
    text += bytes_of(wire::Request{wire::kGet, size, 0}) + key;
  }
  return text;
}

/// The server's messages until a client is let in.
std::string welcome(const wire::Limits& limits) {
  return bytes_of(greeting::Greeting{.opening = greeting::opening_of(wire::kProtocol)}) +
         bytes_of(greeting::Verdict{}) + bytes_of(limits);
}

/// The server's side of one: its welcome, and the answers to get, set and get.
std::string server_messages() {
  return welcome({16, 64}) + bytes_of(wire::Reply{wire::kDone, 2}) + "xy" +
         bytes_of(wire::Reply{wire::kDone, 0}) + bytes_of(wire::Reply{wire::kNotInTime, 0});
}

TEST(TcpStoreGarbage, TheServerServesItsRanks) {
  const auto server =
      TcpStoreServer::listen({.limits = {.key_bytes = 16, .value_bytes = 64}}).value();
  const auto rank = TcpStoreClient::connect("127.0.0.1", server->port(), kUnhurried).value();
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    asio::io_context context;
    tcp::socket socket(context);
    socket.connect({asio::ip::address_v4::loopback(), server->port()});
    const std::string text = mutate(client_messages(), random);
    error_code ignored;  // the server may end the connection at any byte
    asio::write(socket, asio::buffer(text), ignored);
    // Its limits are those of a whole run, so damaged requests must not use them up.
    ASSERT_TRUE(rank->set("key", {'y'}));
    ASSERT_EQ(rank->get("key", kUnhurried).value(), std::vector<char>{'y'});
  }
}

/// Sends each of its clients the same text and then waits until the client leaves.
class Impostor {
 public:
  explicit Impostor(std::string text)
      : text_(std::move(text)), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    serving_ = std::jthread([this] {
      error_code error;
      for (tcp::socket socket(context_); !acceptor_.accept(socket, error);
           socket = tcp::socket(context_)) {
        error_code gone;
        std::array<char, 512> received;
        asio::write(socket, asio::buffer(text_), gone);
        socket.shutdown(tcp::socket::shutdown_send, gone);
        while (!gone) socket.read_some(asio::buffer(received), gone);
      }
    });
  }
  ~Impostor() { ::shutdown(acceptor_.native_handle(), SHUT_RDWR); }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  const std::string text_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  std::jthread serving_;
};

TEST(TcpStoreGarbage, AClientGetsAnAnswerOrAnError) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Impostor server(seed == 0 ? server_messages() : mutate(server_messages(), random));
    // A message that was cut off looks like a server that is not ready, and is tried again.
    const auto client = TcpStoreClient::connect("127.0.0.1", server.port(), milliseconds(40));
    if (!client) {
      EXPECT_FALSE(client.error().message.empty());
      continue;
    }
    const auto value = (*client)->get("key", milliseconds(0));
    if (seed == 0) {
      EXPECT_EQ(value.value(), (std::vector<char>{'x', 'y'}));
    }
    (void)(*client)->set("key", {'y'});
    (void)(*client)->get("other", milliseconds(0));
  }
}

TEST(TcpStoreGarbage, AClientSaysAtOnceThatAnOlderRankZeroIsNotOfItsVersion) {
  // The greeting of version 2, in network order: no places, limits and a nonce follow.
  const Impostor older("hok2" + std::string(44, '\0'));
  const auto client = TcpStoreClient::connect("127.0.0.1", older.port(), kUnhurried);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error(),
            (Error{ErrorCode::unavailable,
                   "rank 0 does not speak the protocol of the ranks' rendezvous as this program "
                   "does; see what listens there, and run the same hocket everywhere"}));
}

TEST(TcpStoreGarbage, AnImpostorCannotMakeAClientAllocateGigabytes) {
  const Impostor server(welcome({16, 0xffffffff}) +
                        bytes_of(wire::Reply{wire::kDone, wire::kLongestValue + 1}));
  const auto client = TcpStoreClient::connect("127.0.0.1", server.port(), kUnhurried).value();
  const auto value = client->get("key", milliseconds(0));
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("too long"), std::string::npos) << value.error().message;
}

}  // namespace
}  // namespace hocket
