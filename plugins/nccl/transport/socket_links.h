#pragma once

// Links by sockets: Unix sockets within a host, TCP between hosts. Rank 0 listens at both, the
// other ranks try the Unix socket first. A TCP connection begins with the secret that rank 0 has
// published.
//
// A link is lost when the other end has closed it, or when its host acknowledges nothing for
// kUnacknowledgedMs; not when its process is stopped. Ranks > 0 try again then.
//
// Questions between ranks > 0 use sockets of their own, within a host only: a rank that has lost
// rank 0 asks those beside it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nccl/transport/connection.h"
#include "plugins/nccl/transport/links.h"
#include "plugins/nccl/transport/rendezvous.h"
#include "plugins/nccl/transport/socket_address.h"

namespace hocket::nccl {

struct SocketLinksOptions {
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t comm_id = 0;
  /// Null if all ranks are on one host.
  Rendezvous* rendezvous = nullptr;
  /// IP addresses under which rank 0 can be reached, without ports; empty: those of its interfaces.
  std::vector<std::string> own_hosts = {};
  /// False: rank 0 is looked for as if it were on another host.
  bool looks_on_this_host = true;
  /// Time between two attempts to connect.
  std::int64_t retry_ns = 200'000'000;
  /// Time after which rank 0 publishes again while ranks are missing: a third of what the daemon
  /// remembers (daemon/api/meeting_board.h).
  std::int64_t publish_again_ns = 30'000'000'000;
};

class SocketLinks final : public Links {
 public:
  static constexpr int kUnacknowledgedMs = 10'000;

  /// Opens the sockets. What cannot be opened leaves the rank without links.
  explicit SocketLinks(SocketLinksOptions options);
  ~SocketLinks() override;
  SocketLinks(const SocketLinks&) = delete;
  SocketLinks& operator=(const SocketLinks&) = delete;

  std::vector<LinkEvent> wait(std::int64_t timeout_ns) override;
  void wake() override;
  void send(std::uint32_t to, const Message& message) override;
  void close() override;

 private:
  static constexpr std::uint32_t kStranger = UINT32_MAX;

  struct End {
    explicit End(int fd) : connection(fd) {}

    Connection connection;
    std::uint32_t rank = kStranger;
    bool is_link = false;
    bool owes_secret = false;
    bool is_connecting = false;
  };
  using Ends = std::vector<std::unique_ptr<End>>;

  bool is_root() const { return options_.rank == 0; }
  void listen_here();
  void listen_at(int family);
  /// Publishes where rank 0 listens, again and again until all ranks have come.
  void publish(std::int64_t now_ns);
  bool has_all_links() const;
  void accept_from(int listener, bool is_local);
  void drop_oldest_stranger();
  void connect_to_root(std::int64_t now_ns);
  std::unique_ptr<End> connect_locally(std::uint32_t rank);
  std::unique_ptr<End> connect_afar();
  void finish_connecting(End& end, std::vector<LinkEvent>& events);
  void take_messages(End& end, std::vector<LinkEvent>& events);
  /// Decides from the first message whose end it is; false if it is nobody's.
  bool admit(End& end, const Message& first);
  void drop_closed(std::vector<LinkEvent>& events);
  End* link_of(std::uint32_t rank);
  End* asking_end_of(std::uint32_t rank);
  void ask(std::uint32_t rank, const Message& message);

  const SocketLinksOptions options_;
  int wake_fd_ = -1;
  int local_listener_ = -1;
  std::vector<int> listeners_;  // accept connections from other hosts
  Meeting meeting_;             // rank 0: the published addresses; others: those that were found
  Ends ends_;
  std::int64_t next_try_ns_ = 0;
  std::size_t next_address_ = 0;
};

}  // namespace hocket::nccl
