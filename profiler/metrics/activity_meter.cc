#include "profiler/metrics/activity_meter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/task_marker.h"

namespace hocket {
namespace {

using Place = std::pair<TraceKind, std::int64_t>;

bool is_of_lane(TraceKind kind) {
  return kind == TraceKind::compute || kind == TraceKind::communication || kind == TraceKind::copy;
}

/// Returns the activity of one window of `wall_ns`; `intervals` are by lane and lie within the
/// window.
IterationActivity activity_within(const std::map<Place, std::vector<Interval>>& intervals,
                                  std::int64_t wall_ns) {
  IterationActivity activity;
  std::vector<Interval> compute, communication;
  for (const auto& [place, of_lane] : intervals) {
    if (place.first == TraceKind::compute)
      compute.insert(compute.end(), of_lane.begin(), of_lane.end());
    if (place.first == TraceKind::communication)
      communication.insert(communication.end(), of_lane.begin(), of_lane.end());
    if (activity.lanes.size() >= kMaxReportedLanes) continue;
    const auto busy_ns = static_cast<double>(length_ns(union_of(of_lane)));
    activity.lanes.push_back(
        {place.first, place.second, wall_ns > 0 ? busy_ns / static_cast<double>(wall_ns) : 0});
  }
  const auto moving = union_of(std::move(communication));
  const auto computing = union_of(std::move(compute));
  activity.computed_ns = length_ns(computing);
  activity.exposed_ns = length_ns(moving) - length_ns(intersection_of(moving, computing));
  return activity;
}

}  // namespace

void ActivityMeter::record(const TraceEvent& event) {
  const std::lock_guard lock(mutex_);
  const auto [start, is_new] = step_starts_ns_.try_emplace(event.step, event.begin_ns);
  if (!is_new) start->second = std::min(start->second, event.begin_ns);
  if (step_starts_ns_.size() > capacity_) step_starts_ns_.erase(step_starts_ns_.begin());
  if (event.task == kWholeStep) {
    untimed_steps_.insert(event.step);
    if (untimed_steps_.size() > capacity_) untimed_steps_.erase(untimed_steps_.begin());
    return;
  }
  if (!is_of_lane(event.kind)) return;
  events_.push_back({event.kind, event.lane, event.begin_ns, event.end_ns});
  if (events_.size() > capacity_) forget_oldest();
}

void ActivityMeter::forget_oldest() {
  known_from_ns_ = std::max(known_from_ns_, events_.front().end_ns);
  events_.pop_front();
}

std::optional<IterationActivity> ActivityMeter::take(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  const auto start = step_starts_ns_.find(step), next = step_starts_ns_.find(step + 1);
  if (start == step_starts_ns_.end() || next == step_starts_ns_.end()) return std::nullopt;
  const Interval window{start->second, next->second};
  step_starts_ns_.erase(step_starts_ns_.begin(), next);
  std::map<Place, std::vector<Interval>> inside;
  for (const Busy& busy : events_) {
    // Creates the entry even for a lane that is idle in this window.
    auto& of_lane = inside[{busy.kind, busy.lane}];
    const Interval part{std::max(busy.begin_ns, window.begin_ns),
                        std::min(busy.end_ns, window.end_ns)};
    if (part.begin_ns < part.end_ns) of_lane.push_back(part);
  }
  std::erase_if(events_, [&](const Busy& busy) { return busy.end_ns <= window.end_ns; });
  const bool is_timed = !untimed_steps_.contains(step) && !untimed_steps_.contains(step - 1);
  untimed_steps_.erase(untimed_steps_.begin(), untimed_steps_.lower_bound(step));
  if (!is_timed) return std::nullopt;
  if (window.begin_ns < known_from_ns_ || window.end_ns <= window.begin_ns) return std::nullopt;
  return activity_within(inside, window.end_ns - window.begin_ns);
}

}  // namespace hocket
