#include "profiler/timeline/timed_records.h"

#include <algorithm>

#include "core/base/intervals.h"
#include "profiler/formats/lane_tracks.h"
#include "profiler/timeline/lane_rows.h"

namespace hocket {

TimedLanes timed_lanes(const TimelineAxis& axis, const RankTrace& trace, std::size_t index) {
  TimedLanes lanes;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const TraceRecord& record = trace.records[i];
    if (!is_usable(trace, record)) continue;
    const std::int64_t begin_ns = axis.at(index, record.begin_ns);
    const std::int64_t end_ns = std::max(axis.at(index, record.end_ns), begin_ns);
    lanes[{record.kind, record.lane}].push_back({begin_ns, end_ns, i});
  }
  for (auto& [key, records] : lanes) {
    const auto is_before = [outer_first = nests(key.first)](const TimedRecord& a,
                                                            const TimedRecord& b) {
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      if (a.end_ns != b.end_ns) return outer_first ? a.end_ns > b.end_ns : a.end_ns < b.end_ns;
      return a.index < b.index;
    };
    if (!std::is_sorted(records.begin(), records.end(), is_before)) {
      std::sort(records.begin(), records.end(), is_before);
    }
  }
  return lanes;
}

BusyIntervals busy_intervals_of(const TimedLanes& lanes) {
  BusyIntervals activity;
  for (const auto& [key, records] : lanes) {
    std::vector<Interval>* const of_kind = key.first == TraceKind::compute ? &activity.compute
                                           : key.first == TraceKind::communication
                                               ? &activity.communication
                                           : key.first == TraceKind::copy ? &activity.copy
                                                                          : nullptr;
    if (of_kind == nullptr) continue;
    for (const TimedRecord& record : records) {
      of_kind->push_back({record.begin_ns, record.end_ns});
    }
  }
  activity.compute = union_of(std::move(activity.compute));
  activity.communication = union_of(std::move(activity.communication));
  activity.copy = union_of(std::move(activity.copy));
  return activity;
}

RowPlan plan_rows(std::span<const TimedRecord> records, std::size_t most_rows) {
  RowPlan plan;
  plan.row_of.reserve(records.size());
  LaneRows rows(most_rows);
  for (const TimedRecord& record : records) {
    const auto row = rows.place(record.begin_ns, record.end_ns);
    plan.row_of.push_back(row ? static_cast<std::uint32_t>(*row) : RowPlan::kLeftOut);
    if (!row) {
      ++plan.left_out;
      continue;
    }
    if (*row == plan.sizes.size()) plan.sizes.push_back(0);
    ++plan.sizes[*row];
  }
  return plan;
}

}  // namespace hocket
