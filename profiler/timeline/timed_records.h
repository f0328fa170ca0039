#pragma once

// A trace's records on the axis, by stream, channel and thread, in the order in which they are
// placed in rows. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/timeline/axis.h"

namespace hocket {

/// A record's time on the axis, and its index in the trace.
struct TimedRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::size_t index = 0;
};

/// By kind and TraceRecord::lane. Records of a stream are sorted by begin; those without length
/// come before others of the same begin, so that they can share a row. Of ranges that nest, the
/// outer one comes first.
using TimedLanes = std::map<std::pair<TraceKind, std::int32_t>, std::vector<TimedRecord>>;

/// Returns the usable records of trace `index`, which `axis` knows.
TimedLanes timed_lanes(const TimelineAxis& axis, const RankTrace& trace, std::size_t index);

/// Returns the same as busy_intervals_of(), on the axis.
BusyIntervals busy_intervals_of(const TimedLanes& lanes);

/// Rows of one lane's records.
struct RowPlan {
  static constexpr std::uint32_t kLeftOut = 0xffffffff;

  std::vector<std::uint32_t> row_of;  ///< by record; kLeftOut if no row is free
  std::vector<std::size_t> sizes;     ///< number of records of each row
  std::int64_t left_out = 0;
};

RowPlan plan_rows(std::span<const TimedRecord> records, std::size_t most_rows);

}  // namespace hocket
