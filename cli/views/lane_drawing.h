#pragma once

// Draws a time range of a rank's trace as text, with a line per stream, channel, copy engine and
// host thread. Compute is "[####", communication "(====", copies "{++++", ranges "<----" and calls
// "<....": the first character marks the beginning of the record. Pure; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

struct LaneDrawingOptions {
  std::int64_t begin_ns = 0, end_ns = 0;  ///< in the rank's clock; requires end > begin
  int columns = 100;                      ///< width of a line, kLeastColumns to kMostColumns
  bool calls = false;                     ///< draw the host's calls as well
};

inline constexpr int kLeastColumns = 40, kMostColumns = 300;

/// Returns a line per lane, each `columns` wide, and an axis whose times count from `begin_ns`. A
/// cell is blank if and only if no record overlaps its time; a record of zero length overlaps the
/// cell that contains it. A cell lasts at least a nanosecond: a range with fewer nanoseconds than
/// cells is extended at its end.
///
/// A record contains its name if it fits; the longest one of a line is cut to fit, between
/// characters. Overlapping records of a lane are on further lines; the last of these shows all
/// remaining ones, without names. The last line counts the lanes beyond kMostDrawnLanes.
std::vector<std::string> draw_lanes(const RankTrace& trace, const LaneDrawingOptions& options);

inline constexpr std::size_t kMostDrawnLanes = 64, kMostLinesOfLane = 4;

/// Returns the legend, "# compute   = communication", for the kinds that a drawing of `trace` may
/// show.
std::string lane_legend(const RankTrace& trace, bool calls);

}  // namespace hocket
