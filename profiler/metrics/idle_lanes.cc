#include "profiler/metrics/idle_lanes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/intervals.h"
#include "core/base/statistics.h"
#include "profiler/metrics/iteration_windows.h"

namespace hocket {
namespace {

/// A stream or a copies' lane of a trace.
using TracedLane = std::pair<TraceKind, std::int32_t>;

TracedLane traced_lane_of(const TraceRecord& record) {
  return {record.kind, record.lane};
}

bool is_of_placed_lane(const TraceRecord& record) {
  return is_plausible(record) &&
         (record.kind == TraceKind::compute || record.kind == TraceKind::copy);
}

/// Returns what each lane of the trace was used for most often.
std::map<TracedLane, TaskLane> lanes_of(const RankTrace& trace, std::span<const TaskLane> lane_of) {
  std::map<TracedLane, std::array<std::int64_t, kTaskLanes>> counts;
  for (const TraceRecord& record : trace.records) {
    if (!is_of_placed_lane(record) || record.task < 0 || record.task >= std::ssize(lane_of))
      continue;
    const TaskLane lane = lane_of[static_cast<std::size_t>(record.task)];
    ++counts[traced_lane_of(record)][static_cast<std::size_t>(lane)];
  }
  std::map<TracedLane, TaskLane> lanes;
  for (const auto& [traced, of_lane] : counts)
    lanes[traced] = static_cast<TaskLane>(std::ranges::max_element(of_lane) - of_lane.begin());
  return lanes;
}

}  // namespace

std::vector<IdleLanes> measure_idle_lanes(const RankTrace& trace,
                                          std::span<const TaskLane> lane_of) {
  const auto lanes = lanes_of(trace, lane_of);
  std::array<std::vector<Interval>, kTaskLanes> intervals;
  for (const TraceRecord& record : trace.records) {
    if (!is_of_placed_lane(record)) continue;
    const auto lane = lanes.find(traced_lane_of(record));
    if (lane == lanes.end()) continue;
    intervals[static_cast<std::size_t>(lane->second)].push_back({record.begin_ns, record.end_ns});
  }
  std::vector<IdleLanes> iterations;
  for (const StepWindow& window : windows_of(trace.step_starts, 0))
    iterations.push_back({.step = window.step});
  for (std::size_t lane = 0; lane < kTaskLanes; ++lane) {
    const Coverage busy(union_of(std::move(intervals[lane])));
    std::size_t i = 0;
    for (const StepWindow& window : windows_of(trace.step_starts, 0)) {
      const auto wall_ns = static_cast<double>(window.interval.end_ns - window.interval.begin_ns);
      const auto busy_ns = static_cast<double>(busy.inside_ns(window.interval));
      iterations[i++].share[lane] = 1 - busy_ns / wall_ns;
    }
  }
  return iterations;
}

std::vector<NamedMetric> named_metrics(std::int64_t rank, std::span<const IdleLanes> iterations) {
  std::vector<NamedMetric> metrics;
  if (iterations.empty()) return metrics;
  for (std::size_t lane = 0; lane < kTaskLanes; ++lane) {
    std::vector<double> shares;
    for (const IdleLanes& iteration : iterations) shares.push_back(iteration.share[lane]);
    metrics.push_back({rank, kIdleFigures[lane], median(std::move(shares))});
  }
  return metrics;
}

}  // namespace hocket
