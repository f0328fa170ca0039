// The server of core/host/tcp_store.h when its process may open no further descriptor. Not under
// the sanitizers, which open a pipe to check an object's type.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/asio.hpp>
#include <thread>

#include "core/host/tcp_store.h"
#include "core/host/tcp_store_wire.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = tcp_store_wire;
using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kLong{30'000};

std::unique_ptr<TcpStoreServer> listen_pausing_for(milliseconds accept_pause) {
  return TcpStoreServer::listen({.limits = {.accept_pause = accept_pause}}).value();
}

/// Lets the process open no further descriptor while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(TcpStoreDescriptors, WithoutAnyItPausesAndServesTheOthers) {
  const auto server = listen_pausing_for(milliseconds(1 << 30));
  const auto honest = TcpStoreClient::connect("127.0.0.1", server->port(), kLong, "").value();
  asio::io_context context;
  tcp::socket late(context, tcp::v4());
  const NoDescriptors none;
  late.connect({asio::ip::address_v4::loopback(), server->port()});
  while (server->failed_accepts() == 0) std::this_thread::yield();
  // Each request is a turn of the server's thread, in which it would accept if it did not pause.
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(honest->set("works", {'y'}));
    EXPECT_EQ(honest->get("works", kLong).value(), std::vector<char>{'y'});
  }
  EXPECT_EQ(server->failed_accepts(), 1U);
}

TEST(TcpStoreDescriptors, WhenThereAreSomeItAcceptsAgain) {
  const auto server = listen_pausing_for(milliseconds(1));
  asio::io_context context;
  tcp::socket late(context, tcp::v4());
  {
    const NoDescriptors none;
    late.connect({asio::ip::address_v4::loopback(), server->port()});
    while (server->failed_accepts() < 2) std::this_thread::yield();
  }
  greeting::Greeting received;
  asio::read(late, asio::buffer(&received, sizeof received));
  EXPECT_EQ(received.opening.magic, wire::kProtocol.magic);
}

}  // namespace
}  // namespace hocket
