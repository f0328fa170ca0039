#pragma once

// Reserves a loopback port for the lifetime of an object, so that no other process gets it. One
// thread.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "core/base/check.h"

namespace hocket {

/// No process listens at the port, so connections are refused. A server that sets SO_REUSEADDR can
/// listen at it, also repeatedly.
class ReservedPort {
 public:
  ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    HOCKET_CHECK(::bind(socket_, name, size) == 0 && ::getsockname(socket_, name, &size) == 0,
                 "loopback has a free port");
    port_ = ntohs(address.sin_port);
  }
  ~ReservedPort() { ::close(socket_); }
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  const int socket_;
  std::uint16_t port_ = 0;
};

}  // namespace hocket
