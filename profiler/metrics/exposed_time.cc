#include "profiler/metrics/exposed_time.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hocket {

BusyIntervals busy_intervals_of(std::span<const TraceRecord> records) {
  BusyIntervals busy;
  for (const TraceRecord& record : records) {
    if (!is_plausible(record)) continue;
    const Interval interval{record.begin_ns, record.end_ns};
    if (record.kind == TraceKind::compute) busy.compute.push_back(interval);
    if (record.kind == TraceKind::communication) busy.communication.push_back(interval);
    if (record.kind == TraceKind::copy) busy.copy.push_back(interval);
  }
  busy.compute = union_of(std::move(busy.compute));
  busy.communication = union_of(std::move(busy.communication));
  busy.copy = union_of(std::move(busy.copy));
  return busy;
}

std::vector<IterationMetrics> measure_windows(std::span<const StepWindow> windows,
                                              const BusyIntervals& busy) {
  std::vector<Interval> both = busy.compute;
  both.insert(both.end(), busy.communication.begin(), busy.communication.end());
  both = union_of(std::move(both));
  std::vector<Interval> all = both;
  all.insert(all.end(), busy.copy.begin(), busy.copy.end());
  const Coverage compute(busy.compute), communication(busy.communication), copy(busy.copy),
      compute_or_communication(both), any(union_of(std::move(all)));

  std::vector<IterationMetrics> iterations;
  iterations.reserve(windows.size());
  for (const auto& [step, window] : windows) {
    IterationMetrics iteration;
    iteration.step = step;
    iteration.begin_ns = window.begin_ns;
    iteration.wall_ns = window.end_ns - window.begin_ns;
    iteration.compute_ns = compute.inside_ns(window);
    iteration.communication_ns = communication.inside_ns(window);
    iteration.copy_ns = copy.inside_ns(window);
    const std::int64_t no_copy_ns = compute_or_communication.inside_ns(window);
    const std::int64_t busy_ns = any.inside_ns(window);
    iteration.exposed_ns = no_copy_ns - iteration.compute_ns;
    iteration.other_ns = busy_ns - no_copy_ns;
    iteration.idle_ns = iteration.wall_ns - busy_ns;
    iterations.push_back(iteration);
  }
  return iterations;
}

std::vector<ExposedSlice> exposed_slices(const RankTrace& trace) {
  const std::vector<Interval> compute = busy_intervals_of(trace.records).compute;
  std::vector<ExposedSlice> slices;
  std::size_t next = 0;  // the first computation that may end after `begin_ns`
  std::int64_t covered_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const TraceRecord& record = trace.records[i];
    if (record.kind != TraceKind::communication || !is_plausible(record)) continue;
    std::int64_t begin_ns = std::max(record.begin_ns, covered_ns);
    if (begin_ns >= record.end_ns) continue;
    covered_ns = record.end_ns;
    while (begin_ns < record.end_ns) {
      while (next < compute.size() && compute[next].end_ns <= begin_ns) ++next;
      const bool is_any = next < compute.size();
      const std::int64_t end_ns =
          is_any ? std::min(record.end_ns, compute[next].begin_ns) : record.end_ns;
      if (begin_ns < end_ns) slices.push_back({{begin_ns, end_ns}, i});
      if (!is_any || compute[next].begin_ns >= record.end_ns) break;
      begin_ns = compute[next].end_ns;
    }
  }
  return slices;
}

}  // namespace hocket
