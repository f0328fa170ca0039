#pragma once

// Ranks as hosts × places, host by host: rank = host · ranks_per_host + place. Determines the
// groups of collectives and the owner of each block of a scattered buffer. Pure.

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

  /// Returns the block that `rank` owns of a scattered buffer. Blocks of one place are adjacent, so
  /// the result of a reduce-scatter inside a host is contiguous: the hosts() blocks of the rank's
  /// place, which a reduce-scatter between the hosts then divides.
  constexpr std::int64_t block_of(std::int64_t rank) const {
    return place_of(rank) * hosts() + host_of(rank);
  }

  bool operator==(const RankGrid&) const = default;
};

/// Alignment of blocks.
inline constexpr std::int64_t kBlockAlignmentBytes = 64;

/// Returns the size of a block when a buffer of `bytes` is scattered over `ranks`. The last blocks
/// end with the buffer, so they may be shorter or empty.
constexpr std::int64_t block_bytes(std::int64_t bytes, std::int64_t ranks) {
  constexpr std::int64_t unit = kBlockAlignmentBytes;
  const std::int64_t even = (bytes + ranks - 1) / ranks;
  return std::max((even + unit - 1) / unit * unit, unit);
}

/// Bytes [begin, end) of a buffer.
struct BlockRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const BlockRange&) const = default;
};

/// Returns the block of `rank` in a scattered buffer of `bytes`.
constexpr BlockRange block_range(std::int64_t bytes, const RankGrid& grid, std::int64_t rank) {
  const std::int64_t block = block_bytes(bytes, grid.ranks);
  const std::int64_t begin = std::min(grid.block_of(rank) * block, bytes);
  return {begin, std::min(begin + block, bytes)};
}

}  // namespace hocket
