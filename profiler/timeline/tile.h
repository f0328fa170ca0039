#pragma once

// The boxes of a timeline's tiles. Pure.
//
// A tile is a sequence of 32-bit words:
//
//     kTileMagic
//     number of lanes that have boxes
//     for each of these: the lane, and its number of boxes
//     the boxes of the first of these lanes, then those of the second, …: kBoxWords words each, as
//     in TileBox; numbers with a fraction as IEEE 754 binary32

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "profiler/timeline/lane_records.h"

namespace hocket {

/// Records of one lane within a tile: a record that is wider than a column, or consecutive ones
/// that together are no wider.
struct TileBox {
  /// From 0 to kTileColumns: what lies outside the tile is cut off.
  float begin_column = 0, end_column = 0;
  /// Share of the box in which the lane is busy. 1 for a single record.
  float busy = 1;
  std::uint32_t name = 0;     ///< index of the name, or kSeveralNames
  std::uint32_t record = 0;   ///< index of the first record in the lane
  std::uint32_t records = 0;  ///< number of records
  /// Number, from 1, of the collective that all records are parts of; 0 if there is none. Only
  /// collectives of several ranks have numbers.
  std::uint32_t join = 0;
};
inline constexpr std::uint32_t kBoxWords = 7;
static_assert(sizeof(TileBox) == kBoxWords * sizeof(std::uint32_t));

/// The span of time of a tile. Its bounds need not be whole nanoseconds.
class TileSpan {
 public:
  /// Divides an axis of `end_ns`, at least 1. Requires a level from 0 to kMaxTileLevel and an index
  /// from 0 to 2^level − 1.
  TileSpan(std::int64_t end_ns, std::int64_t level, std::int64_t index);

  /// Returns the first record that lies in the tile at least in part, and the first after these.
  std::pair<std::size_t, std::size_t> records_in(const LaneRecords& records) const;
  /// Length of a column, rounded down to nanoseconds.
  std::int64_t column_ns() const { return column_ns_; }

  /// Returns the column at a time, cut to the tile.
  double column_at(std::int64_t time_ns) const;
  /// Returns how long a record that begins then is before the tile begins.
  double before_ns(std::int64_t begin_ns) const;
  /// Returns how long a record that ends then lasts after the tile has ended.
  double after_ns(std::int64_t end_ns) const;

 private:
  std::int64_t floor_ns_ = 0;    ///< the begin, rounded down
  double fraction_ns_ = 0;       ///< the begin, from floor_ns_
  std::int64_t ceiling_ns_ = 0;  ///< the end, rounded up
  std::int64_t column_ns_ = 0;
  double length_ns_ = 0;
};

/// Returns a lane's boxes in a tile, at most 2 · kTileColumns + 2. O(boxes · log n).
std::vector<TileBox> boxes_of(const LaneRecords& records, const TileSpan& span);

}  // namespace hocket
