#pragma once

// A server on a free port of 127.0.0.1 that takes connections and answers nothing, as a process
// that hangs, or says what PostgreSQL says until a connection is ready and then no more, as behind
// a firewall that has forgotten the connection. One thread of its own.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/check.h"

namespace hocket {

class SilentServer {
 public:
  enum class Silence {
    from_the_start,
    once_ready,  ///< after PostgreSQL's start-up
  };

  explicit SilentServer(Silence silence) : silence_(silence) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    HOCKET_CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 64) == 0 &&
                     getsockname(listener_, generic, &size) == 0,
                 "a test needs a port of 127.0.0.1");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~SilentServer() {
    eventfd_write(ended_, 1);
    thread_.join();
    for (const int connection : connections_) close(connection);
    close(listener_);
    close(ended_);
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// The URI of a store on it. The client asks for no encryption first.
  std::string store() const {
    return "postgresql://hocket@127.0.0.1:" + std::to_string(port_) +
           "/hocket?sslmode=disable&gssencmode=disable";
  }

  /// Returns how many connections it has taken.
  int connections() const { return count_; }

 private:
  void serve() {
    for (;;) {
      std::array<pollfd, 2> events{pollfd{listener_, POLLIN, 0}, pollfd{ended_, POLLIN, 0}};
      if (poll(events.data(), events.size(), -1) < 0) continue;
      if (events[1].revents != 0) return;
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      connections_.push_back(connection);
      ++count_;
      if (silence_ == Silence::once_ready) start(connection);
    }
  }

  /// Reads the client's start-up, of which the answer does not depend, and lets it in.
  static void start(int connection) {
    using namespace std::string_view_literals;
    std::array<char, 4096> startup;
    if (recv(connection, startup.data(), startup.size(), 0) <= 0) return;
    constexpr std::string_view kReady =
        "R\0\0\0\x08\0\0\0\0"
        "S\0\0\0\x19"
        "client_encoding\0UTF8\0"
        "S\0\0\0\x18"
        "server_version\0"
        "15.4\0"
        "K\0\0\0\x0c\0\0\0\x01\0\0\0\x02"
        "Z\0\0\0\x05I"sv;
    (void)send(connection, kReady.data(), kReady.size(), MSG_NOSIGNAL);
  }

  const Silence silence_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int ended_ = eventfd(0, EFD_CLOEXEC);
  std::uint16_t port_ = 0;
  std::atomic<int> count_ = 0;
  std::vector<int> connections_;  // used by thread_ while it runs
  std::thread thread_;
};

}  // namespace hocket
