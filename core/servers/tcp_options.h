#pragma once

// Socket options for both sides of a parameter server's connections. Any thread.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hocket {

/// Sends small messages at once, and lets the system end the connection when the peer's host has
/// not answered for `silence_ns`, whether something was sent to it or not.
inline void set_tcp_options(int socket, std::int64_t silence_ns) {
  const auto set = [&](int level, int name, std::int64_t value) {
    const int number =
        static_cast<int>(std::clamp<std::int64_t>(value, 1, std::numeric_limits<int>::max()));
    // A system that does not know an option notices a dead peer later.
    (void)::setsockopt(socket, level, name, &number, sizeof number);
  };
  constexpr int kProbes = 4;
  const std::int64_t silence_s = silence_ns / 1'000'000'000;
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::min<std::int64_t>(silence_s / 2, 32'767));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::min<std::int64_t>(silence_s / 2 / kProbes, 32'767));
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ns / 1'000'000);
}

}  // namespace hocket
