#pragma once

// The links that a part uses between a rank and a parameter server, as both the simulator and the
// emulation number them. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

struct ServedPath {
  /// Numbers of the rank's link and of the server's in the direction of the part.
  std::uint32_t rank_link = 0, server_link = 0;
  /// Time for which the part is still under way when it has left the links. It counts both ways,
  /// because a push is acknowledged and a pull asks first.
  std::int64_t latency_ns = 0;

  bool operator==(const ServedPath&) const = default;
};

class ServedPaths {
 public:
  ServedPaths(const StepServers& servers, std::size_t ranks) : servers_(servers), ranks_(ranks) {}

  /// Bytes a second of each link: two for each rank, up and down, then two for each server unless
  /// it shares those of a rank.
  std::vector<double> bytes_per_second() const {
    std::vector<double> links(2 * ranks_, servers_.rank_link.bytes_per_second);
    if (!servers_.colocated)
      links.insert(links.end(), 2 * static_cast<std::size_t>(servers_.servers),
                   servers_.server_link.bytes_per_second);
    return links;
  }

  /// Returns the path of a push to `server` or of a pull from it; nothing if the two are one host,
  /// which exchanges parts without links.
  std::optional<ServedPath> find(std::size_t rank, std::size_t server, bool is_pull) const {
    const std::size_t host = servers_.colocated ? server % ranks_ : ranks_ + server;
    if (host == rank) return std::nullopt;
    // A push leaves by the rank's link and arrives by the server's, a pull the other way.
    const auto link = [](std::size_t of_host, bool is_down) {
      return static_cast<std::uint32_t>(2 * of_host + (is_down ? 1 : 0));
    };
    const LinkSpec& servers_link = servers_.colocated ? servers_.rank_link : servers_.server_link;
    return ServedPath{link(rank, is_pull), link(host, !is_pull),
                      2 * (servers_.rank_link.latency_ns + servers_link.latency_ns)};
  }

 private:
  StepServers servers_;
  std::size_t ranks_;
};

}  // namespace hocket
