#pragma once

// Functions shared by the load programs: connections waiting in one epoll, and a summary of
// measurements. For one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/daemon/server_process.h"
#include "benchmarks/measured_table.h"
#include "core/base/statistics.h"

namespace hocket {

/// Numbered connections to ports of the loopback interface.
class Connections {
 public:
  Connections(std::uint16_t port, std::size_t count)
      : Connections(std::vector<std::uint16_t>{port}, count) {}
  /// `count` to each port; number n is to port n modulo their number.
  Connections(std::vector<std::uint16_t> ports, std::size_t count);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections();

  std::size_t size() const { return sockets_.size(); }
  void send(std::size_t number, std::string_view text);
  /// Returns the data received so far; empty if there is none now. Valid until the next receive().
  std::string_view receive(std::size_t number);
  /// Closes a connection and opens it anew, under the same number.
  void reopen(std::size_t number);
  /// Blocks until at least one connection has data, or for `timeout_ms` if it is at least 0;
  /// returns all that have data.
  const std::vector<std::size_t>& wait(int timeout_ms = -1);

 private:
  int connect_to_port(std::size_t number) const;

  const std::vector<std::uint16_t> ports_;
  int epoll_;
  std::vector<int> sockets_;
  std::vector<std::size_t> ready_;
  std::string buffer_;
};

/// Returns the size of the response that `text` begins with, or nothing while it is incomplete.
std::optional<std::size_t> response_bytes(std::string_view text);

/// Formats values as "median (least to most)".
std::string spread_text(const std::vector<double>& values, int digits);

/// The bare server as the peer in tables whose rows end with the server.
MeasuredPeer over_bare();
/// Adds a row for each server, named `name` and the server.
void add_servers(MeasuredTable& table, const std::string& name,
                 const std::map<ServerKind, std::vector<double>>& values);

}  // namespace hocket
