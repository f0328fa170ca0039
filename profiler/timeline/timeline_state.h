#pragma once

// The data of a timeline, and its construction. Any thread may read it once it is built.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/timeline/join_table.h"
#include "profiler/timeline/lane_records.h"
#include "profiler/timeline/rank_cover.h"
#include "profiler/timeline/timeline.h"

namespace hocket {

/// Number of records of one kind and name.
struct NameCount {
  LaneKind kind = LaneKind::compute;
  std::uint32_t name = 0, records = 0;
};

struct TimelineState {
  std::int64_t end_ns = 1, records = 0;
  std::vector<std::string> names;
  std::vector<TimelineRank> ranks;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineIteration> iterations;
  std::vector<std::string> notes;
  std::vector<LaneRecords> lane_records;  ///< in the order of lanes
  std::vector<RankCover> covers;          ///< in the order of ranks
  JoinTable joins;
  std::vector<NameCount> name_counts;

  bool has(const RecordPlace& place) const {
    return place.lane < lanes.size() && place.record < lane_records[place.lane].size();
  }
  std::size_t bytes() const;
};

/// Requires one fit for each trace.
std::unique_ptr<const TimelineState> build_timeline(std::span<const RankTrace> traces,
                                                    std::span<const ClockFit> fits);

}  // namespace hocket
