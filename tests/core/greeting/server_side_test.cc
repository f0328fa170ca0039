// Both sides of a greeting over a connection, with one between them that changes what they send.

#include "core/greeting/server_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/greeting/client_side.h"
#include "tests/core/greeting/test_protocol.h"

namespace hocket::greeting {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;

/// Secrets of both sides, and the one between them.
struct Encounter {
  std::string client_secret = "between us", server_secret = "between us";
  Protocol client_protocol = kTestProtocol;
  Result<void> admission = {};
  /// Change the bytes that the client reads and writes, which begin at an offset of all of them.
  std::function<void(std::size_t offset, std::string& bytes)> read = [](std::size_t, auto&) {};
  std::function<void(std::size_t offset, std::string& bytes)> written = [](std::size_t, auto&) {};
};

struct Ended {
  Result<void> client;
  std::optional<bool> server;  ///< without a value: it threw
  std::string admitted;        ///< the details of the client that was let in
};

Ended greet(const Encounter& encounter) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  tcp::socket own(context), accepted(context);
  own.connect(acceptor.local_endpoint());
  acceptor.accept(accepted);
  Ended met;
  std::array<char, 4> details = {};
  const std::function<Result<void>()> admit = [&] {
    if (encounter.admission) met.admitted.assign(details.data(), details.size());
    return encounter.admission;
  };
  asio::co_spawn(
      context,
      greet_client(accepted, kTestProtocol, encounter.server_secret, asio::buffer(details), admit),
      [&](const std::exception_ptr& thrown, bool let_in) {
        if (!thrown) met.server = let_in;
        boost::system::error_code ignored;
        accepted.close(ignored);
      });
  std::jthread serving([&] { context.run(); });
  std::size_t read = 0, written = 0;
  const Channel channel = {.read = [&](void* into, std::size_t bytes) -> Result<void> {
                             boost::system::error_code error;
                             std::string got(bytes, '\0');
                             asio::read(own, asio::buffer(got), error);
                             if (error) return failure(ErrorCode::unavailable, error.message());
                             encounter.read(read, got);
                             read += bytes;
                             std::memcpy(into, got.data(), bytes);
                             return {};
                           },
                           .write = [&](const void* from, std::size_t bytes) -> Result<void> {
                             boost::system::error_code error;
                             std::string sent(static_cast<const char*>(from), bytes);
                             encounter.written(written, sent);
                             written += bytes;
                             asio::write(own, asio::buffer(sent), error);
                             if (error) return failure(ErrorCode::unavailable, error.message());
                             return {};
                           }};
  bool try_again = false;
  met.client = greet_server(channel, encounter.client_protocol, encounter.client_secret, "it",
                            "rank", try_again);
  boost::system::error_code ignored;
  own.shutdown(tcp::socket::shutdown_both, ignored);
  serving.join();
  return met;
}

/// Inverts a bit of the byte at `at`, if these bytes contain it.
std::function<void(std::size_t, std::string&)> flip(std::size_t at) {
  return [at](std::size_t offset, std::string& bytes) {
    if (at >= offset && at - offset < bytes.size()) bytes[at - offset] ^= 4;
  };
}

TEST(Greeting, LetsAClientInThatHasTheSecretOrNeedsNone) {
  for (const std::string secret : {"between us", ""}) {
    const Ended met = greet({.client_secret = secret, .server_secret = secret});
    EXPECT_TRUE(met.client);
    EXPECT_EQ(met.server, true);
    EXPECT_EQ(met.admitted, "rank");
  }
}

TEST(Greeting, TellsAClientWhyItIsRefused) {
  const auto expect = [](const Encounter& encounter, const std::string& words) {
    const Ended met = greet(encounter);
    EXPECT_EQ(met.server, false);
    EXPECT_EQ(met.admitted, "");
    ASSERT_FALSE(met.client);
    EXPECT_THAT(met.client.error().message, HasSubstr(words));
  };
  expect({.client_secret = "mine"}, "of this rank differs from the server's; set it to the same");
  expect({.client_secret = ""}, "is set for the server and not for this rank");
  expect({.server_secret = ""}, "is set for this rank and not for the server");
  expect({.admission = invalid("no room")}, "it: no room");
}

TEST(Greeting, NobodyIsLetInWhoseWordsWereChangedOnTheWay) {
  for (std::size_t at = 0; at < sizeof(Introduction) + 4; ++at) {
    SCOPED_TRACE("byte " + std::to_string(at));
    const Ended met = greet({.written = flip(at)});
    EXPECT_FALSE(met.client);
    EXPECT_NE(met.server, true);
    EXPECT_EQ(met.admitted, "");
  }
}

TEST(Greeting, NobodyIsBelievedWhoseWordsWereChangedOnTheWay) {
  for (std::size_t at = 0; at < sizeof(Greeting) + sizeof(Verdict); ++at) {
    SCOPED_TRACE("byte " + std::to_string(at));
    EXPECT_FALSE(greet({.read = flip(at)}).client);
  }
}

TEST(Greeting, AProofForOneProtocolIsNoneForAnother) {
  Protocol other = kTestProtocol;
  other.magic = 8;
  const auto show_as = [](const Protocol& protocol) {
    return [protocol](std::size_t offset, std::string& bytes) {
      if (offset == 0) bytes.replace(0, sizeof(Opening), message_bytes(opening_of(protocol)));
    };
  };
  const Ended met =
      greet({.client_protocol = other, .read = show_as(other), .written = show_as(kTestProtocol)});
  EXPECT_FALSE(met.client);
  EXPECT_EQ(met.server, false);
  EXPECT_EQ(met.admitted, "");
}

}  // namespace
}  // namespace hocket::greeting
