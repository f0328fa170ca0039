#pragma once

// Functions shared by the load programs: connections waiting in one epoll, and a summary of
// measurements. For one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/statistics.h"

namespace hocket {

/// Numbered connections to a port of the loopback interface.
class Connections {
 public:
  Connections(std::uint16_t port, std::size_t count);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections();

  std::size_t size() const { return sockets_.size(); }
  void send(std::size_t number, std::string_view text);
  /// Returns the data received so far; empty if there is none now. Valid until the next receive().
  std::string_view receive(std::size_t number);
  /// Blocks until at least one connection has data, and returns all that have.
  const std::vector<std::size_t>& wait();

 private:
  int epoll_;
  std::vector<int> sockets_;
  std::vector<std::size_t> ready_;
  std::string buffer_;
};

/// Formats values as "median (least to most)".
std::string spread_text(const std::vector<double>& values, int digits);

}  // namespace hocket
