#include "client/live/activity_sum.h"

#include <algorithm>
#include <cmath>

#include "core/base/statistics.h"

namespace hocket {

void ActivitySum::add(const JobActivity& activity, std::int64_t wall_ns) {
  if (exposed_ns_.size() >= kMaxReportedIterations) return;
  const auto wall = static_cast<double>(wall_ns);
  exposed_ns_.push_back(static_cast<double>(activity.exposed_ns));
  wall_ns_ += wall;
  for (const LaneActivity& lane : activity.lanes) {
    const std::pair place(lane.kind, lane.lane);
    if (busy_ns_.size() >= kMaxReportedLanes && !busy_ns_.contains(place)) continue;
    busy_ns_[place] += lane.busy * wall;
  }
}

std::optional<JobActivity> ActivitySum::take() {
  if (exposed_ns_.empty()) return std::nullopt;
  JobActivity activity{.exposed_ns = std::llround(median(exposed_ns_))};
  for (const auto& [place, busy_ns] : busy_ns_) {
    const double busy = wall_ns_ > 0 ? std::min(busy_ns / wall_ns_, 1.0) : 0;
    activity.lanes.push_back({place.first, place.second, busy});
  }
  clear();
  return activity;
}

}  // namespace hocket
