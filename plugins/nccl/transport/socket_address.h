#pragma once

// Addresses of the sockets by which the ranks of a communicator find each other. Ranks on one host
// meet at abstract Unix sockets, which vanish with the process. Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace hocket::nccl {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// Returns the Unix socket of a rank of this user's communicator.
SocketAddress unix_address(std::uint64_t comm_id, std::uint32_t rank);

/// Returns whether the process at the other end of a Unix socket is of this user. Abstract sockets
/// have no permissions.
bool is_of_this_user(int fd);

/// Rank 0's publication for ranks on other hosts: a secret and the addresses at which it listens.
struct Meeting {
  static constexpr std::size_t kSecretBytes = 16;
  /// Begins every connection from another host, so that no stranger takes a rank's place.
  std::string secret;
  std::vector<SocketAddress> addresses;
};

/// "1 SECRET-IN-HEX ADDRESS PORT ADDRESS PORT …"
std::string to_text(const Meeting& meeting);
/// Returns no addresses for a text of another form.
Meeting read_meeting(const std::string& text);

/// Returns the addresses of this host's interfaces that are up, with `port`; without those that
/// only this host can reach.
std::vector<SocketAddress> own_addresses(std::uint16_t port);

/// Returns random bytes; fewer if the system has none.
std::string random_bytes(std::size_t count);

}  // namespace hocket::nccl
