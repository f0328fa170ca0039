#pragma once

// Ranks as hosts × places, host by host: rank = host · ranks_per_host + place. From it follow the
// groups of collectives, and who owns which block of what is scattered over the ranks. Pure.

#include <algorithm>
#include <cstdint>

namespace hocket {

struct RankGrid {
  std::int64_t ranks = 1;
  /// Divides `ranks`.
  std::int64_t ranks_per_host = 1;

  constexpr std::int64_t hosts() const { return ranks / ranks_per_host; }
  constexpr std::int64_t host_of(std::int64_t rank) const { return rank / ranks_per_host; }
  constexpr std::int64_t place_of(std::int64_t rank) const { return rank % ranks_per_host; }

  /// The block that `rank` owns of a scattered buffer. Those of one place lie together, so that
  /// what a rank keeps after a reduce-scatter inside its host is contiguous: its place's hosts()
  /// blocks, which a reduce-scatter between the hosts then divides.
  constexpr std::int64_t block_of(std::int64_t rank) const {
    return place_of(rank) * hosts() + host_of(rank);
  }

  bool operator==(const RankGrid&) const = default;
};

/// Blocks begin at multiples of this.
inline constexpr std::int64_t kBlockAlignmentBytes = 64;

/// Of a buffer of `bytes` that is scattered over `ranks`: what every block takes, up to the end of
/// the buffer. The last blocks may be shorter, or empty.
constexpr std::int64_t block_bytes(std::int64_t bytes, std::int64_t ranks) {
  constexpr std::int64_t unit = kBlockAlignmentBytes;
  const std::int64_t even = (bytes + ranks - 1) / ranks;
  return std::max((even + unit - 1) / unit * unit, unit);
}

/// Bytes from `begin` to `end` of a buffer.
struct BlockRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const BlockRange&) const = default;
};

/// The block of `rank` in a scattered buffer of `bytes`.
constexpr BlockRange block_range(std::int64_t bytes, const RankGrid& grid, std::int64_t rank) {
  const std::int64_t block = block_bytes(bytes, grid.ranks);
  const std::int64_t begin = std::min(grid.block_of(rank) * block, bytes);
  return {begin, std::min(begin + block, bytes)};
}

}  // namespace hocket
