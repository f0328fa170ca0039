#include "profiler/iterations.h"

#include <algorithm>
#include <map>

#include "profiler/intervals.h"

namespace hocket {
namespace {

std::vector<Interval> busy(const std::vector<TraceEvent>& events, TraceKind kind) {
  std::vector<Interval> intervals;
  for (const TraceEvent& event : events) {
    if (event.kind == kind) intervals.push_back({event.begin_ns, event.end_ns});
  }
  return union_of(std::move(intervals));
}

void note_start(const TraceEvent& event, std::map<std::int64_t, std::int64_t>& starts_ns) {
  const auto [it, added] = starts_ns.emplace(event.step, event.begin_ns);
  if (!added) it->second = std::min(it->second, event.begin_ns);
}

/// When each step's first task started, in order of steps.
std::vector<std::int64_t> step_starts(const std::vector<TraceEvent>& events) {
  std::map<std::int64_t, std::int64_t> first;
  for (const TraceEvent& event : events) note_start(event, first);
  std::vector<std::int64_t> starts;
  for (const auto& [step, start_ns] : first) starts.push_back(start_ns);
  return starts;
}

}  // namespace

void TraceRecorder::record(const TraceEvent& event) {
  std::lock_guard lock(mutex_);
  events_.push_back(event);
  note_start(event, step_starts_ns_);
}

std::vector<TraceEvent> TraceRecorder::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::optional<std::int64_t> TraceRecorder::step_start_ns(std::int64_t step) const {
  std::lock_guard lock(mutex_);
  const auto found = step_starts_ns_.find(step);
  if (found == step_starts_ns_.end()) return std::nullopt;
  return found->second;
}

std::vector<Iteration> measure_iterations(const std::vector<TraceEvent>& events,
                                          std::int64_t warmup) {
  const auto compute = busy(events, TraceKind::compute);
  const auto communication = busy(events, TraceKind::communication);
  const auto overlapped = intersection_of(compute, communication);
  const auto starts = step_starts(events);

  std::vector<Iteration> iterations;
  for (std::size_t i = static_cast<std::size_t>(warmup); i + 1 < starts.size(); ++i) {
    const std::vector<Interval> window = {{starts[i], starts[i + 1]}};
    const auto inside = [&](const std::vector<Interval>& set) {
      return length_ns(intersection_of(set, window));
    };
    Iteration iteration{length_ns(window), inside(compute), inside(communication), 0};
    iteration.exposed_ns = iteration.communication_ns - inside(overlapped);
    iterations.push_back(iteration);
  }
  return iterations;
}

}  // namespace hocket
