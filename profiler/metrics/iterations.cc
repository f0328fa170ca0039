#include "profiler/metrics/iterations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/trace/task_marker.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"

namespace hocket {
namespace {

void note_start(const TraceEvent& event, std::map<std::int64_t, std::int64_t>& starts_ns) {
  const auto [it, added] = starts_ns.emplace(event.step, event.begin_ns);
  if (!added) it->second = std::min(it->second, event.begin_ns);
}

BusyIntervals busy_intervals_of(const std::vector<TraceEvent>& events) {
  BusyIntervals activity;
  for (const TraceEvent& event : events) {
    const Interval interval{event.begin_ns, event.end_ns};
    if (event.kind == TraceKind::compute) activity.compute.push_back(interval);
    if (event.kind == TraceKind::communication) activity.communication.push_back(interval);
  }
  activity.compute = union_of(std::move(activity.compute));
  activity.communication = union_of(std::move(activity.communication));
  return activity;
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
  std::map<std::int64_t, std::int64_t> first;
  std::set<std::int64_t> whole;
  for (const TraceEvent& event : events) {
    note_start(event, first);
    if (event.task == kWholeStep) whole.insert(event.step);
  }
  std::vector<StepStart> starts;
  for (const auto& [step, begin_ns] : first) {
    if (warmup-- <= 0) starts.push_back({step, begin_ns});
  }
  std::vector<Iteration> iterations;
  for (const auto& i : measure_windows(windows_of(starts, kNoStep), busy_intervals_of(events))) {
    if (whole.contains(i.step) || whole.contains(i.step - 1)) {
      iterations.push_back({.wall_ns = i.wall_ns, .is_whole = true});
    } else {
      iterations.push_back({i.wall_ns, i.compute_ns, i.communication_ns, i.exposed_ns});
    }
  }
  return iterations;
}

TraceDetail sampled_detail(std::int64_t step, std::int64_t warmup) {
  constexpr std::int64_t kFirst = 4;
  const bool is_sampled = step < warmup + kFirst || step % kSampledEvery < 2;
  return is_sampled ? TraceDetail::tasks : TraceDetail::steps;
}

}  // namespace hocket
