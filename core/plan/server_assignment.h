#pragma once

// Assigns collectives to parameter servers. Pure: ranks that submit the same collectives in the
// same order assign them alike. Not thread-safe.
//
// A large collective is divided into slices of equal size, one for each server, so that a big
// tensor does not sit on one (as MXNet's KVStore divides its big arrays); a small one is a single
// slice. The slices go to the servers in turn, from a server on which the collectives seen so far
// have put the least bytes. The same bytes of the same data are on the same server in each step,
// whatever partition_bytes is, so that a server can keep what belongs to them.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/collective/part_sizes.h"
#include "core/step/task.h"

namespace hocket {

/// Smallest collective that is divided among all servers.
inline constexpr std::int64_t kDividedCollectiveBytes = 1 << 20;

class ServerAssignment {
 public:
  struct Place {
    /// Number of the data that the collective accesses, in the order in which collectives first
    /// did: the same on every rank.
    std::uint32_t tensor = 0;
    /// Server of the first slice.
    int first_server = 0;
  };

  /// Sets the number of servers; forgets what was assigned if it changes.
  void resize(int servers) {
    if (servers == static_cast<int>(load_bytes_.size())) return;
    load_bytes_.assign(static_cast<std::size_t>(servers), 0);
    places_.clear();
    tensors_ = 0;
  }

  /// Returns the bytes of each slice but the last of a collective of `bytes`.
  std::int64_t slice_bytes(std::int64_t bytes) const {
    constexpr std::int64_t unit = kPartAlignmentBytes;
    if (bytes < kDividedCollectiveBytes) return std::max(bytes, std::int64_t{1});
    const auto all = static_cast<std::int64_t>(load_bytes_.size()) * unit;
    return (bytes + all - 1) / all * unit;
  }

  /// Returns the place of a collective of `bytes` that accesses `accesses`.
  Place place(std::span<const Access> accesses, std::int64_t bytes) {
    if (accesses.empty()) return assign(bytes);
    const std::uint32_t data = accesses.front().data.index;
    if (data >= places_.size()) places_.resize(data + 1, {.first_server = kUnassigned});
    if (places_[data].first_server == kUnassigned) places_[data] = assign(bytes);
    return places_[data];
  }

 private:
  static constexpr int kUnassigned = -1;

  Place assign(std::int64_t bytes) {
    const auto first =
        static_cast<std::size_t>(std::ranges::min_element(load_bytes_) - load_bytes_.begin());
    const std::int64_t each = slice_bytes(bytes);
    std::size_t server = first;
    for (std::int64_t begin = 0; begin < bytes; begin += each) {
      load_bytes_[server] += std::min(each, bytes - begin);
      server = (server + 1) % load_bytes_.size();
    }
    return {tensors_++, static_cast<int>(first)};
  }

  /// Bytes of the collectives seen so far, by server.
  std::vector<std::int64_t> load_bytes_;
  std::vector<Place> places_;  // by data
  std::uint32_t tensors_ = 0;
};

}  // namespace hocket
