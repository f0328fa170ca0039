#include "core/host/tcp_store_listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using boost::asio::ip::make_address;
using std::chrono::milliseconds;

/// An address for documentation (RFC 5737), which no host has.
const std::string kElsewhere = "192.0.2.77";

Result<std::unique_ptr<TcpStoreClient>> connect_at(const std::string& host, std::uint16_t port,
                                                   const std::string& secret = {}) {
  return TcpStoreClient::connect(host, port, milliseconds(200), secret);
}

TEST(TcpStoreListen, ListensAtItsOwnAddressAlone) {
  const auto server = TcpStoreServer::listen({.host = "127.0.0.1"}).value();
  EXPECT_TRUE(connect_at("127.0.0.1", server->port()));
  EXPECT_FALSE(connect_at("127.0.0.2", server->port()));
}

TEST(TcpStoreListen, EveryAddressOfANameAnswersAtOnePort) {
  const auto server = TcpStoreServer::listen({.host = "localhost"}).value();
  EXPECT_TRUE(connect_at("localhost", server->port()));
}

TEST(TcpStoreListen, ListensEverywhereOnlyWithASecret) {
  const auto open = TcpStoreServer::listen({.host = kElsewhere, .port = 29'600});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error(),
            (Error{ErrorCode::unavailable,
                   "cannot listen on port 29600 of 192.0.2.77: rank 0's host has no such address; "
                   "name an address of that host, or set HOCKET_RENDEZVOUS_SECRET to the same text "
                   "on every rank to listen on all of its addresses"}));
  const auto guarded = TcpStoreServer::listen({.host = kElsewhere, .secret = "between us"}).value();
  EXPECT_TRUE(connect_at("127.0.0.1", guarded->port(), "between us"));
  EXPECT_TRUE(connect_at("127.0.0.2", guarded->port(), "between us"));
}

TEST(TcpStoreListen, AnUnknownNameIsNamed) {
  const auto server = TcpStoreServer::listen({.host = "no-such-host.invalid"});
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message,
              testing::StartsWith("cannot find the address of no-such-host.invalid: "));
}

TEST(TcpStoreListen, KnowsANameThatOtherHostsReadDifferently) {
  EXPECT_TRUE(is_name_of_loopback("node1", {make_address("127.0.1.1")}));
  EXPECT_TRUE(is_name_of_loopback("node1", {make_address("127.0.1.1"), make_address("::1")}));
  EXPECT_FALSE(is_name_of_loopback("node1", {make_address("127.0.1.1"), make_address("10.0.0.1")}));
  EXPECT_FALSE(is_name_of_loopback("127.0.0.1", {make_address("127.0.0.1")}));
  EXPECT_FALSE(is_name_of_loopback("localhost", {make_address("127.0.0.1")}));
}

}  // namespace
}  // namespace hocket
