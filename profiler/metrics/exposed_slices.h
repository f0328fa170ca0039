#pragma once

// Attributes exposed communication, in which no computation runs, to the collectives that cause it.
// Pure.

#include <cstdint>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"

namespace hocket {

struct ExposedSlice {
  Interval interval = {};
  std::size_t record = 0;  ///< index into RankTrace::records

  bool operator==(const ExposedSlice&) const = default;
};

/// Returns M \ C of docs/METRICS.md over the whole trace, cut where another record causes it: of
/// several communications at once the one that began first. Slices rise and are disjoint.
/// O(n log n). Requires a trace in order.
std::vector<ExposedSlice> exposed_slices(const RankTrace& trace);

}  // namespace hocket
