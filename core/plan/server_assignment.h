#pragma once

// Assigns the parts of collectives to parameter servers. Pure: ranks that submit the same
// collectives in the same order assign them alike. Not thread-safe.
//
// The parts of a collective go to the servers in turn, from a server on which the collectives seen
// so far have put the least bytes. A collective on the same data begins at the same server in each
// step, so that a server can keep what belongs to the data. A large collective has at least one
// part for each server, whatever partition_bytes is, so that a big tensor does not sit on one
// (as MXNet's KVStore divides its big arrays).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/collective/collective_parts.h"
#include "core/step/task.h"

namespace hocket {

/// Smallest collective that is divided among all servers.
inline constexpr std::int64_t kDividedCollectiveBytes = 1 << 20;

class ServerAssignment {
 public:
  /// Sets the number of servers; forgets what was assigned if it changes.
  void resize(int servers) {
    if (servers == static_cast<int>(load_bytes_.size())) return;
    load_bytes_.assign(static_cast<std::size_t>(servers), 0);
    first_of_data_.clear();
  }

  /// Returns the maximum bytes of a part of a collective of `bytes`.
  std::int64_t partition_bytes(std::int64_t bytes, std::int64_t partition_bytes) const {
    if (bytes < kDividedCollectiveBytes) return partition_bytes;
    const auto servers = static_cast<std::int64_t>(load_bytes_.size());
    constexpr std::int64_t unit = kPartAlignmentBytes;
    return std::min(partition_bytes, (bytes + servers * unit - 1) / (servers * unit) * unit);
  }

  /// Returns the server of the first part of a collective that accesses `accesses`.
  int first_server(std::span<const Access> accesses, std::int64_t bytes, std::int64_t part_bytes) {
    if (accesses.empty()) return assign(bytes, part_bytes);
    const std::uint32_t data = accesses.front().data.index;
    if (data >= first_of_data_.size()) first_of_data_.resize(data + 1, kUnassigned);
    int& first = first_of_data_[data];
    if (first == kUnassigned) first = assign(bytes, part_bytes);
    return first;
  }

  /// Bytes of the collectives seen so far, by server.
  std::span<const std::int64_t> load_bytes() const { return load_bytes_; }

 private:
  static constexpr int kUnassigned = -1;

  int assign(std::int64_t bytes, std::int64_t part_bytes) {
    const auto first =
        static_cast<std::size_t>(std::ranges::min_element(load_bytes_) - load_bytes_.begin());
    std::size_t server = first;
    for (std::int64_t begin = 0; begin < bytes; begin += part_bytes) {
      load_bytes_[server] += std::min(part_bytes, bytes - begin);
      server = (server + 1) % load_bytes_.size();
    }
    return static_cast<int>(first);
  }

  std::vector<std::int64_t> load_bytes_;
  std::vector<int> first_of_data_;
};

}  // namespace hocket
