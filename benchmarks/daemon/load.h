#pragma once

// What the load programs share: connections that wait in one epoll, and the summary of what was
// measured. For one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/statistics.h"

namespace hocket {

/// Connections to a port of loopback, each with a number.
class Connections {
 public:
  Connections(std::uint16_t port, std::size_t count);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections();

  std::size_t size() const { return sockets_.size(); }
  void send(std::size_t number, std::string_view text);
  /// What is there, through the next receive(); empty: nothing now.
  std::string_view receive(std::size_t number);
  /// Those that have something, as soon as one has.
  const std::vector<std::size_t>& wait();

 private:
  int epoll_;
  std::vector<int> sockets_;
  std::vector<std::size_t> ready_;
  std::string buffer_;
};

/// "median (least to most)".
std::string spread_text(const std::vector<double>& values, int digits);

}  // namespace hocket
