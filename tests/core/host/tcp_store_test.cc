#include "core/host/tcp_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/reserved_port.h"

namespace hocket {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<TcpStoreClient> connect(const TcpStoreServer& server) {
  return TcpStoreClient::connect("127.0.0.1", server.port(), milliseconds(10'000)).value();
}

TEST(TcpStore, AGetWaitsForAnotherClientsSet) {
  const auto server = TcpStoreServer::listen({}).value();
  const auto a = connect(*server), b = connect(*server);
  const std::vector<char> value = {'x', '\0', 'y'};
  std::jthread setter([&] { EXPECT_TRUE(a->set("key", value)); });
  EXPECT_EQ(b->get("key", milliseconds(10'000)).value(), value);
  EXPECT_EQ(b->local_address(), "127.0.0.1");
}

TEST(TcpStore, AKeyThatNeverComesIsATimeout) {
  const auto server = TcpStoreServer::listen({}).value();
  const auto client = connect(*server);
  const auto value = client->get("never", milliseconds(20));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(client->set("never", {})) << "the connection still works";
}

TEST(TcpStore, AServerThatGoesAwayIsAnErrorAndAPortInUseToo) {
  auto server = TcpStoreServer::listen({}).value();
  EXPECT_FALSE(TcpStoreServer::listen({.port = server->port()}));
  const auto client = connect(*server);
  ASSERT_TRUE(client->set("a", {}));
  server.reset();
  EXPECT_FALSE(client->set("b", {}));
}

TEST(TcpStore, NobodyListeningIsATimeout) {
  const ReservedPort port;
  const auto nobody = TcpStoreClient::connect("127.0.0.1", port.port(), milliseconds(50));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::timed_out);
}

std::unique_ptr<TcpStoreServer> server_with(const std::string& secret) {
  return TcpStoreServer::listen({.secret = secret}).value();
}

Result<std::unique_ptr<TcpStoreClient>> connect_with(const TcpStoreServer& server,
                                                     const std::string& secret) {
  return TcpStoreClient::connect("127.0.0.1", server.port(), milliseconds(10'000), secret);
}

TEST(TcpStore, ClientsWithTheServersSecretMeet) {
  const auto server = server_with("between us");
  const auto a = connect_with(*server, "between us").value(),
             b = connect_with(*server, "between us").value();
  ASSERT_TRUE(a->set("key", {'x'}));
  EXPECT_EQ(b->get("key", milliseconds(10'000)).value(), std::vector<char>{'x'});
}

TEST(TcpStore, ADifferentSecretIsRefusedAtOnceAndNamesTheVariable) {
  const struct {
    const char *server, *client, *message;
  } cases[] = {
      {"one", "two",
       "rank 0: environment variable HOCKET_RENDEZVOUS_SECRET of this rank differs from rank 0's; "
       "set it to the same text for every rank, or for none"},
      {"one", "",
       "rank 0: environment variable HOCKET_RENDEZVOUS_SECRET is set for rank 0 and not for this "
       "rank; set it to the same text for every rank, or for none"},
      {"", "two",
       "rank 0: environment variable HOCKET_RENDEZVOUS_SECRET is set for this rank and not for "
       "rank 0; set it to the same text for every rank, or for none"},
  };
  for (const auto& each : cases) {
    const auto server = server_with(each.server);
    const auto client = connect_with(*server, each.client);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error(), (Error{ErrorCode::invalid_argument, each.message}));
    EXPECT_TRUE(connect_with(*server, each.server)) << "others are still let in";
  }
}

}  // namespace
}  // namespace hocket
