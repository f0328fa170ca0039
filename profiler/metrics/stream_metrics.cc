#include "profiler/metrics/stream_metrics.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"

namespace hocket {
namespace {

bool is_on_stream(const TraceRecord& record) {
  return record.kind == TraceKind::compute || record.kind == TraceKind::communication ||
         record.kind == TraceKind::copy;
}

/// Returns a sort key that orders unknown times (0) last.
std::int64_t known_first(std::int64_t time_ns) {
  return time_ns == 0 ? std::numeric_limits<std::int64_t>::max() : time_ns;
}

using Lane = std::vector<const TraceRecord*>;

/// Returns each stream's records by begin. Of records that begin at the same time, the one
/// submitted and ready first ends the gap before them, whatever their order in the trace.
std::vector<Lane> lanes_of(std::span<const TraceRecord> records) {
  Lane sorted;
  for (const TraceRecord& record : records) {
    if (is_on_stream(record) && is_plausible(record)) sorted.push_back(&record);
  }
  const auto key = [](const TraceRecord* r) {
    return std::tuple(r->kind, r->lane, r->begin_ns, known_first(r->submitted_ns),
                      known_first(r->ready_ns), r->end_ns);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto* a, const auto* b) { return key(a) < key(b); });
  std::vector<Lane> lanes;
  for (const TraceRecord* record : sorted) {
    const bool is_new = lanes.empty() || lanes.back().front()->kind != record->kind ||
                        lanes.back().front()->lane != record->lane;
    if (is_new) lanes.emplace_back();
    lanes.back().push_back(record);
  }
  return lanes;
}

bool begins_inside(const TraceRecord& record, const Coverage& measured) {
  return measured.inside_ns({record.begin_ns, record.begin_ns + 1}) > 0;
}

/// Adds the part inside `measured` of the gap from `idle_ns` to the begin of `record`.
void add_gap(const TraceRecord& record, std::int64_t idle_ns, const Coverage& measured,
             GapTimes& gaps) {
  const std::int64_t begin_ns = record.begin_ns;
  if (record.submitted_ns == 0) {
    gaps.unknown_ns += measured.inside_ns({idle_ns, begin_ns});
    return;
  }
  const std::int64_t submitted_ns = std::clamp(record.submitted_ns, idle_ns, begin_ns);
  gaps.host_ns += measured.inside_ns({idle_ns, submitted_ns});
  const std::int64_t rest_ns = measured.inside_ns({submitted_ns, begin_ns});
  if (record.ready_ns == 0) {
    const bool is_switch = begin_ns - submitted_ns < kConsecutiveKernelsNs;
    (is_switch ? gaps.kernel_ns : gaps.unknown_ns) += rest_ns;
    return;
  }
  const std::int64_t ready_ns = std::clamp(record.ready_ns, submitted_ns, begin_ns);
  const std::int64_t event_ns = measured.inside_ns({submitted_ns, ready_ns});
  gaps.event_ns += event_ns;
  gaps.kernel_ns += rest_ns - event_ns;
}

StreamMetrics measure_stream(const Lane& lane, const std::vector<Interval>& measured,
                             const Coverage& coverage) {
  StreamMetrics metrics;
  metrics.kind = lane.front()->kind;
  metrics.lane = lane.front()->lane;
  std::vector<Interval> busy;
  std::int64_t idle_ns = lane.front()->begin_ns;
  for (const TraceRecord* record : lane) {
    busy.push_back({record->begin_ns, record->end_ns});
    if (begins_inside(*record, coverage)) ++metrics.records;
    if (record->begin_ns > idle_ns) add_gap(*record, idle_ns, coverage, metrics.gaps);
    idle_ns = std::max(idle_ns, record->end_ns);
  }
  metrics.busy_ns = length_ns(intersection_of(union_of(std::move(busy)), measured));
  return metrics;
}

/// Launch latencies, fed one stream after the other.
class Launches {
 public:
  explicit Launches(const Coverage& measured) : measured_(measured) {}

  void add(const Lane& lane) {
    std::int64_t idle_ns = 0;
    for (const TraceRecord* record : lane) {
      if (record->submitted_ns != 0 && begins_inside(*record, measured_)) add(*record, idle_ns);
      idle_ns = std::max(idle_ns, record->end_ns);
    }
  }

  std::optional<LaunchLatency> latency() const {
    if (all_.empty()) return std::nullopt;
    return LaunchLatency{figures_of(to_idle_), figures_of(all_)};
  }

 private:
  void add(const TraceRecord& record, std::int64_t idle_ns) {
    const std::int64_t latency_ns =
        std::max<std::int64_t>(record.begin_ns - record.submitted_ns, 0);
    all_.push_back(static_cast<double>(latency_ns));
    if (idle_ns <= record.submitted_ns && record.ready_ns <= record.submitted_ns)
      to_idle_.push_back(static_cast<double>(latency_ns));
  }

  static LatencyFigures figures_of(const std::vector<double>& latencies) {
    if (latencies.empty()) return {};
    return {std::ssize(latencies), median(latencies), quantile(latencies, 0.95)};
  }

  const Coverage& measured_;
  std::vector<double> to_idle_, all_;
};

}  // namespace

StreamFigures measure_streams(std::span<const TraceRecord> records,
                              const std::vector<Interval>& measured) {
  const Coverage coverage(measured);
  StreamFigures figures;
  Launches launches(coverage);
  for (const Lane& lane : lanes_of(records)) {
    figures.streams.push_back(measure_stream(lane, measured, coverage));
    launches.add(lane);
  }
  figures.launch = launches.latency();
  return figures;
}

}  // namespace hocket
