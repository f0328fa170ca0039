#include "daemon/server/systemd.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace hocket {
namespace {

// Opened where systemd has started the process, whose system has the library. A process that is not
// its service needs none, nor the libraries that this one brings.
struct Systemd {
  void* library = ::dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  decltype(&sd_listen_fds) listen_fds = function<decltype(&sd_listen_fds)>("sd_listen_fds");
  decltype(&sd_is_socket) is_socket = function<decltype(&sd_is_socket)>("sd_is_socket");
  decltype(&sd_notify) notify = function<decltype(&sd_notify)>("sd_notify");

  bool is_complete() const {
    return listen_fds != nullptr && is_socket != nullptr && notify != nullptr;
  }

 private:
  template <typename Function>
  Function function(const char* name) const {
    return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
  }
};

const Systemd& systemd() {
  static const Systemd opened;
  return opened;
}

void notify(const char* state) {
  if (std::getenv("NOTIFY_SOCKET") != nullptr && systemd().is_complete())
    systemd().notify(0, state);
}

}  // namespace

Result<std::vector<int>> inherited_listeners() {
  if (std::getenv("LISTEN_FDS") == nullptr) return std::vector<int>();
  if (!systemd().is_complete()) {
    return failure(ErrorCode::unavailable,
                   "LISTEN_FDS announces sockets of systemd, and libsystemd.so.0, which takes "
                   "them, cannot be opened; install libsystemd0");
  }
  const int count = systemd().listen_fds(/*unset_environment=*/1);
  if (count < 0) {
    return failure(ErrorCode::invalid_argument,
                   std::string("the sockets that LISTEN_FDS announces cannot be taken: ") +
                       std::strerror(-count));
  }
  std::vector<int> listeners;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    const bool is_tcp = systemd().is_socket(fd, AF_INET, SOCK_STREAM, /*listening=*/1) > 0 ||
                        systemd().is_socket(fd, AF_INET6, SOCK_STREAM, /*listening=*/1) > 0;
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
  notify("READY=1");
}

void notify_stopping() {
  notify("STOPPING=1");
}

}  // namespace hocket
