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
  const auto server = TcpStoreServer::listen(0).value();
  const auto a = connect(*server), b = connect(*server);
  const std::vector<char> value = {'x', '\0', 'y'};
  std::jthread setter([&] { EXPECT_TRUE(a->set("key", value)); });
  EXPECT_EQ(b->get("key", milliseconds(10'000)).value(), value);
  EXPECT_EQ(b->local_address(), "127.0.0.1");
}

TEST(TcpStore, AKeyThatNeverComesIsATimeout) {
  const auto server = TcpStoreServer::listen(0).value();
  const auto client = connect(*server);
  const auto value = client->get("never", milliseconds(20));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(client->set("never", {})) << "the connection still works";
}

TEST(TcpStore, AServerThatGoesAwayIsAnErrorAndAPortInUseToo) {
  auto server = TcpStoreServer::listen(0).value();
  EXPECT_FALSE(TcpStoreServer::listen(server->port()));
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

}  // namespace
}  // namespace hocket
