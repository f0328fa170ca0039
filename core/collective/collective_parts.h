#pragma once

// Divides a collective into parts. Pure.

#include <algorithm>
#include <cstdint>

namespace hocket {

/// Alignment of parts, so that no element is split and vector loads stay aligned.
inline constexpr std::int64_t kPartAlignmentBytes = 64;

/// Returns the size of every part but the last of a collective of `bytes` (≥ 0): as few parts as
/// `partition_bytes` allows, of equal size up to alignment. Never above `partition_bytes`, unless
/// that is below the alignment.
constexpr std::int64_t part_bytes(std::int64_t bytes, std::int64_t partition_bytes) {
  constexpr std::int64_t unit = kPartAlignmentBytes;
  const std::int64_t limit = std::max(partition_bytes / unit, std::int64_t{1}) * unit;
  const std::int64_t parts = std::max((bytes + limit - 1) / limit, std::int64_t{1});
  const std::int64_t even = (bytes + parts - 1) / parts;
  return std::clamp((even + unit - 1) / unit * unit, unit, limit);
}

/// Returns the number of parts; 1 (empty) for a collective of no bytes, since the ranks still meet.
constexpr std::int64_t part_count(std::int64_t bytes, std::int64_t partition_bytes) {
  const std::int64_t size = part_bytes(bytes, partition_bytes);
  return std::max((bytes + size - 1) / size, std::int64_t{1});
}

}  // namespace hocket
