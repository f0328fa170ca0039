// Compares a message between two ranks (core/host/messages) with the same bytes over a bare TCP
// socket, on the loopback interface, in one run.
//
//   bin/messages_benchmark [--rounds N]
//
// The two ranks are processes. A round sends the bytes there and back, once over each, in turn, and
// its time is halved. Prints for each size the medians and the median ± half the interquartile
// range of each round's ratio.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/files/scratch_folder.h"
#include "core/host/gloo_collective.h"

namespace hocket {
namespace {

constexpr int kWarmup = 20;

/// A connected pair of TCP sockets; both ends are −1 if there can be none.
struct SocketPair {
  int ends[2] = {-1, -1};

  SocketPair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener, at, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, at, &size) != 0)
      return;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], at, size) != 0) return;
    ends[1] = accept(listener, nullptr, nullptr);
    close(listener);
    const int on = 1;
    for (const int end : ends) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
};

bool send_all(int socket, const char* data, std::size_t left) {
  while (left > 0) {
    const ssize_t sent = write(socket, data, left);
    if (sent <= 0) return false;
    data += sent;
    left -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, std::size_t left) {
  while (left > 0) {
    const ssize_t got = read(socket, data, left);
    if (got <= 0) return false;
    data += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Sends the values there and back on rank 0, back and there on rank 1.
using Exchange = std::function<bool()>;

bool run_rank(int rank, int socket, int rounds, const std::string& folder) {
  auto connected = connect_gloo(
      {.ranks = {
           .rank = rank, .world_size = 2, .rendezvous = "file:" + folder, .local_rank = rank}});
  if (!connected) {
    std::fprintf(stderr, "messages_benchmark: %s\n", connected.error().message.c_str());
    return false;
  }
  Collective& collective = **connected;
  std::uint64_t index = 0;
  for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{1} << 20}) {
    std::vector<float> values(bytes / sizeof(float), 1);
    auto* const data = reinterpret_cast<char*>(values.data());
    const std::size_t peer = rank == 0 ? 1 : 0;
    const auto message = [&](CollectiveKind kind) {
      return collective.run({.kind = kind, .values = values, .index = index, .peer = peer})
          .has_value();
    };
    const Exchange by_message = [&] {
      using enum CollectiveKind;
      const bool ok =
          rank == 0 ? message(send) && message(receive) : message(receive) && message(send);
      ++index;
      return ok;
    };
    const Exchange by_socket = [&] {
      return rank == 0 ? send_all(socket, data, bytes) && receive_all(socket, data, bytes)
                       : receive_all(socket, data, bytes) && send_all(socket, data, bytes);
    };
    std::vector<double> message_ns, socket_ns, ratios;
    const SteadyClock clock;
    for (int round = 0; round < kWarmup + rounds; ++round) {
      double times_ns[2] = {};
      for (int turn = 0; turn < 2; ++turn) {
        const int way = (turn + round) % 2;
        const std::int64_t begin_ns = clock.now_ns();
        if (!(way == 0 ? by_message() : by_socket())) return false;
        times_ns[way] = static_cast<double>(clock.now_ns() - begin_ns) / 2;
      }
      if (round < kWarmup) continue;
      message_ns.push_back(times_ns[0]);
      socket_ns.push_back(times_ns[1]);
      ratios.push_back(times_ns[0] / times_ns[1]);
    }
    if (rank != 0) continue;
    std::printf("%4zu KiB  message %8.1f us   socket %8.1f us   ratio %.2f ± %.2f\n", bytes >> 10,
                median(message_ns) / 1e3, median(socket_ns) / 1e3, median(ratios), spread(ratios));
    std::fflush(stdout);
  }
  return true;
}

int run(int rounds) {
  const auto folder = ScratchFolder::make();
  const SocketPair sockets;
  if (!folder || sockets.ends[1] < 0) {
    std::fprintf(stderr, "messages_benchmark: no folder, or no socket\n");
    return 1;
  }
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() == 0)
      _exit(run_rank(rank, sockets.ends[rank], rounds, folder->path()) ? 0 : 1);
  }
  bool all_well = true;
  for (const pid_t pid : ranks) {
    int status = 0;
    all_well = waitpid(pid, &status, 0) == pid && status == 0 && all_well;
  }
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  int rounds = 2000;
  CLI::App app("Messages between two ranks against a bare socket");
  app.add_option("--rounds", rounds)->capture_default_str()->check(CLI::Range(1, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  return hocket::run(rounds);
}
