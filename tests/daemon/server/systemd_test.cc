#include "daemon/server/systemd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/daemon/raw_client.h"
#include "tests/daemon/running_server.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// The socket on which a service notifies systemd.
class NotifySocket {
 public:
  NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    const std::string path = folder_.file("notify");
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval minute = {60, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
  }
  std::string next() {
    char text[256];
    const ssize_t bytes = recv(socket_, text, sizeof text, 0);
    return bytes < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(bytes));
  }

 private:
  hocket::TemporaryFolder folder_;
  int socket_;
};

TEST(Systemd, IsToldOfReadinessAndOfTheEnd) {
  NotifySocket socket;
  RunningServer server;
  server.start();
  EXPECT_EQ(socket.next(), "READY=1");
  server.ask_to_stop();
  EXPECT_EQ(socket.next(), "STOPPING=1");
  server.stop();
}

int listening_socket(sockaddr_in& address, int type = SOCK_STREAM) {
  const int listener = socket(AF_INET, type, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), bytes), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(listener, 8), 0);
  }
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  return listener;
}

/// Passes the socket as systemd does, as descriptor 3.
void pass(int descriptor) {
  if (descriptor != 3) dup2(descriptor, 3);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "1", 1);
}

/// Serves on the inherited socket until SIGTERM; returns the exit status.
int serve_inherited() {
  auto listeners = inherited_listeners();
  if (!listeners || listeners->size() != 1) return 1;
  if (!inherited_listeners().value_or(std::vector<int>{1}).empty()) return 2;
  FunctionService service;
  Feed feed;
  ServerOptions options;
  options.listeners = *listeners;
  auto server = Server::create(options, service, feed, Log());
  if (!server) return 3;
  (*server)->stop_on_signals();
  (*server)->run();
  return 0;
}

TEST(Systemd, PassesASocketThatIsServedUntilASignal) {
  sockaddr_in address = {};
  const int listener = listening_socket(address);
  const pid_t child = fork();
  if (child == 0) {
    pass(listener);
    _exit(serve_inherited());
  }
  close(listener);
  {
    RawClient client(ntohs(address.sin_port));
    client.get("/inherited");
    EXPECT_EQ(client.read_response().body, "GET /inherited ");
    kill(child, SIGTERM);
    EXPECT_TRUE(client.is_closed());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Systemd, ASocketThatIsNoListenerIsRefused) {
  sockaddr_in address = {};
  const int datagrams = listening_socket(address, SOCK_DGRAM);
  const pid_t child = fork();
  if (child == 0) {
    pass(datagrams);
    const auto refused = inherited_listeners();
    const bool says_why =
        !refused && refused.error().message.find("ListenStream=") != std::string::npos;
    _exit(says_why ? 0 : 1);
  }
  close(datagrams);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Systemd, PassesNothingWhereThereIsNone) {
  const auto listeners = inherited_listeners();
  ASSERT_TRUE(listeners.has_value());
  EXPECT_TRUE(listeners->empty());
}

}  // namespace
}  // namespace hocket
