#include "daemon/server/systemd.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstring>
#include <string>

namespace hocket {

Result<std::vector<int>> inherited_listeners() {
  const int count = sd_listen_fds(/*unset_environment=*/1);
  if (count < 0) {
    return failure(ErrorCode::invalid_argument,
                   std::string("the sockets that LISTEN_FDS announces cannot be taken: ") +
                       std::strerror(-count));
  }
  std::vector<int> listeners;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    const bool is_tcp = sd_is_socket(fd, AF_INET, SOCK_STREAM, /*listening=*/1) > 0 ||
                        sd_is_socket(fd, AF_INET6, SOCK_STREAM, /*listening=*/1) > 0;
    if (!is_tcp) {
      return failure(ErrorCode::invalid_argument,
                     "descriptor " + std::to_string(fd) +
                         " that systemd passed is no listening TCP socket; give the socket unit "
                         "ListenStream= with an address and a port");
    }
    listeners.push_back(fd);
  }
  return listeners;
}

void notify_ready() {
  sd_notify(0, "READY=1");
}

void notify_stopping() {
  sd_notify(0, "STOPPING=1");
}

}  // namespace hocket
