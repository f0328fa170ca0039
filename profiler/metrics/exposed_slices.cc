#include "profiler/metrics/exposed_slices.h"

#include <algorithm>
#include <limits>

#include "profiler/metrics/exposed_time.h"

namespace hocket {

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
