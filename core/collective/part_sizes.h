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

/// The parts of a collective in the order in which they start. A collective may be divided into
/// slices, each of which is divided into parts of its own; the slices take turns.
class PartCursor {
 public:
  struct Part {
    std::int64_t offset_bytes = 0;
    std::int64_t bytes = 0;
    std::int64_t slice = 0;

    bool operator==(const Part&) const = default;
  };

  PartCursor() = default;
  /// A single slice.
  PartCursor(std::int64_t bytes, std::int64_t partition_bytes)
      : PartCursor(bytes, std::max(bytes, std::int64_t{1}), partition_bytes) {}
  /// Each slice but the last has `slice_bytes` > 0, a multiple of the alignment if there are
  /// several. A collective of no bytes is one empty part.
  PartCursor(std::int64_t bytes, std::int64_t slice_bytes, std::int64_t partition_bytes)
      : bytes_(bytes),
        slice_bytes_(slice_bytes),
        part_bytes_(part_bytes(std::min(bytes, slice_bytes), partition_bytes)),
        left_(std::max(bytes / slice_bytes * parts_of(slice_bytes) + parts_of(bytes % slice_bytes),
                       std::int64_t{1})) {}

  /// Number of parts from next() on.
  std::int64_t left() const { return left_; }

  /// Returns the next part; requires left() > 0.
  Part next() const {
    const std::int64_t offset = slice_ * slice_bytes_ + in_slice_bytes_;
    const std::int64_t end = std::min((slice_ + 1) * slice_bytes_, bytes_);
    return {offset, std::min(part_bytes_, end - offset), slice_};
  }

  void advance() {
    if (--left_ == 0) return;
    do {
      ++slice_;
      if (slice_ * slice_bytes_ < bytes_) continue;
      slice_ = 0;
      in_slice_bytes_ += part_bytes_;
    } while (next().bytes <= 0);  // the last slice may have fewer parts than the others
  }

 private:
  std::int64_t parts_of(std::int64_t bytes) const {
    return (bytes + part_bytes_ - 1) / part_bytes_;
  }

  std::int64_t bytes_ = 0, slice_bytes_ = kPartAlignmentBytes, part_bytes_ = kPartAlignmentBytes;
  std::int64_t left_ = 0;
  std::int64_t slice_ = 0, in_slice_bytes_ = 0;
};

}  // namespace hocket
