#pragma once

// A stretch of a rank's trace drawn as text, a line a stream, channel, copy engine and thread of
// the host. Compute is "[####", communication "(====", copies "{++++", ranges "<----" and calls
// "<....": the first character stands where the record begins. Pure; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

struct LaneDrawingOptions {
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of the rank's clock; the end is after the begin
  int columns = 100;                      ///< of a line, from kLeastColumns to kMostColumns
  bool calls = false;                     ///< draw the host's calls, too
};

inline constexpr int kLeastColumns = 40, kMostColumns = 300;

/// A line each lane, all of `columns` columns, then an axis whose times count from `begin_ns`. A
/// cell is blank if no record overlaps its time, and only then; a record without length overlaps
/// the cell that it lies in. A cell lasts at least a nanosecond: a stretch of fewer nanoseconds
/// than cells is drawn with what follows it.
///
/// Records have their name in them where it fits; the longest of a line is cut to fit, between
/// characters. Records of a lane that overlap are on further lines, the last of which shows all
/// that are left, without names. Lanes beyond kMostDrawnLanes are counted in the last line.
std::vector<std::string> draw_lanes(const RankTrace& trace, const LaneDrawingOptions& options);

inline constexpr std::size_t kMostDrawnLanes = 64, kMostLinesOfLane = 4;

/// "# compute   = communication", for the kinds that a drawing of `trace` may show.
std::string lane_legend(const RankTrace& trace, bool calls);

}  // namespace hocket
