#pragma once

// Computes one rank's metrics nanosecond by nanosecond: a slow but simple reference. Pure.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "profiler/metrics/metrics.h"
#include "tests/profiler/random_timeline.h"

namespace hocket {

class Ticks {
 public:
  Ticks(const RankTrace& trace, std::int64_t first_step) : trace_(trace) {
    std::map<std::int64_t, std::int64_t> starts;
    for (const StepStart& start : trace.step_starts) starts[start.step] = start.begin_ns;
    for (const auto& [step, begin_ns] : starts) {
      if (step < first_step || !starts.contains(step + 1)) continue;
      windows_.push_back({step, begin_ns, starts[step + 1]});
      for (auto t = begin_ns; t < starts[step + 1]; ++t) measured_.insert(t);
    }
  }

  RankMetrics count() const {
    RankMetrics metrics;
    metrics.rank = trace_.rank;
    for (const auto& window : windows_) metrics.iterations.push_back(count(window));
    std::set<std::pair<TraceKind, std::int32_t>> lanes;
    for (const TraceRecord& record : trace_.records) {
      if (record.kind <= TraceKind::copy) lanes.emplace(record.kind, record.lane);
    }
    for (const auto& [kind, lane] : lanes) metrics.streams.push_back(count(kind, lane));
    metrics.launch = launches();
    return metrics;
  }

  /// Returns the measured time from the first begin to the last end on a lane.
  std::int64_t span_ns(TraceKind kind, std::int32_t lane) const {
    std::int64_t first = kTimelineEnd * 2, last = 0, span = 0;
    for (const TraceRecord* record : on(kind, lane)) {
      first = std::min(first, record->begin_ns);
      last = std::max(last, record->end_ns);
    }
    for (auto t = first; t < last; ++t) span += measured_.contains(t);
    return span;
  }

 private:
  struct Span {
    std::int64_t step, begin_ns, end_ns;
  };

  bool runs(TraceKind kind, std::int64_t t) const {
    return std::any_of(trace_.records.begin(), trace_.records.end(), [&](const auto& r) {
      return r.kind == kind && r.begin_ns <= t && t < r.end_ns;
    });
  }

  IterationMetrics count(const Span& window) const {
    IterationMetrics metrics;
    metrics.step = window.step;
    metrics.begin_ns = window.begin_ns;
    for (auto t = window.begin_ns; t < window.end_ns; ++t) {
      const bool c = runs(TraceKind::compute, t), m = runs(TraceKind::communication, t),
                 p = runs(TraceKind::copy, t);
      metrics.wall_ns += 1;
      metrics.compute_ns += c;
      metrics.communication_ns += m;
      metrics.copy_ns += p;
      metrics.exposed_ns += m && !c;
      metrics.other_ns += p && !c && !m;
      metrics.idle_ns += !c && !m && !p;
    }
    return metrics;
  }

  /// Returns a lane's records in the order in which they end gaps.
  std::vector<const TraceRecord*> on(TraceKind kind, std::int32_t lane) const {
    std::vector<const TraceRecord*> records;
    for (const TraceRecord& record : trace_.records) {
      if (record.kind == kind && record.lane == lane) records.push_back(&record);
    }
    std::stable_sort(records.begin(), records.end(), [](const auto* a, const auto* b) {
      const auto key = [](const TraceRecord* r) {
        return std::tuple(r->begin_ns, r->submitted_ns == 0, r->submitted_ns, r->ready_ns == 0,
                          r->ready_ns, r->end_ns);
      };
      return key(a) < key(b);
    });
    return records;
  }

  StreamMetrics count(TraceKind kind, std::int32_t lane) const {
    StreamMetrics metrics{kind, lane, 0, 0, {}};
    const auto records = on(kind, lane);
    for (const TraceRecord* record : records)
      metrics.records += measured_.contains(record->begin_ns);
    for (const std::int64_t t : measured_) count_tick(records, t, metrics);
    return metrics;
  }

  static void count_tick(const std::vector<const TraceRecord*>& records, std::int64_t t,
                         StreamMetrics& metrics) {
    const TraceRecord* next = nullptr;
    std::int64_t last_end = -1;
    for (const TraceRecord* record : records) {
      if (record->begin_ns > t && next == nullptr) next = record;
      if (record->begin_ns <= t) last_end = std::max(last_end, record->end_ns);
    }
    if (last_end > t) {
      ++metrics.busy_ns;
    } else if (last_end >= 0 && next != nullptr) {
      ++(metrics.gaps.*class_of(*next, last_end, t));
    }
  }

  static std::int64_t GapTimes::*class_of(const TraceRecord& next, std::int64_t idle_ns,
                                          std::int64_t t) {
    if (next.submitted_ns == 0) return &GapTimes::unknown_ns;
    if (t < next.submitted_ns) return &GapTimes::host_ns;
    if (next.ready_ns == 0) {
      const auto rest = next.begin_ns - std::max(next.submitted_ns, idle_ns);
      return rest < 30 ? &GapTimes::kernel_ns : &GapTimes::unknown_ns;
    }
    return t < next.ready_ns ? &GapTimes::event_ns : &GapTimes::kernel_ns;
  }

  static LatencyFigures figures_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](double p) {
      const double position = p * static_cast<double>(values.size() - 1);
      const auto i = static_cast<std::size_t>(position);
      const double above = values[std::min(i + 1, values.size() - 1)];
      const double fraction = position - static_cast<double>(i);
      return values[i] * (1 - fraction) + above * fraction;
    };
    return {std::ssize(values), at(0.5), at(0.95)};
  }

  std::optional<LaunchLatency> launches() const {
    std::vector<double> to_idle, all;
    for (const auto kind : {TraceKind::compute, TraceKind::communication, TraceKind::copy}) {
      for (const std::int32_t lane : {0, 1}) {
        std::int64_t idle_ns = 0;
        for (const TraceRecord* r : on(kind, lane)) {
          if (r->submitted_ns > 0 && measured_.contains(r->begin_ns)) {
            const auto latency =
                static_cast<double>(std::max<std::int64_t>(0, r->begin_ns - r->submitted_ns));
            all.push_back(latency);
            if (r->submitted_ns >= idle_ns && r->ready_ns <= r->submitted_ns)
              to_idle.push_back(latency);
          }
          idle_ns = std::max(idle_ns, r->end_ns);
        }
      }
    }
    if (all.empty()) return std::nullopt;
    return LaunchLatency{figures_of(to_idle), figures_of(all)};
  }

  const RankTrace& trace_;
  std::vector<Span> windows_;
  std::set<std::int64_t> measured_;
};

}  // namespace hocket
