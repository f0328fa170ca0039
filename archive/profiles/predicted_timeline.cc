#include "archive/profiles/predicted_timeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/intervals.h"
#include "core/trace/trace_builder.h"
#include "profiler/formats/category.h"
#include "profiler/formats/lane_tracks.h"

namespace hocket {
namespace {

/// The last step whose successor began, too.
std::optional<Interval> last_window(const TraceRecorder& recorded,
                                    const std::vector<TraceEvent>& events) {
  std::int64_t last = -1;
  for (const TraceEvent& event : events) last = std::max(last, event.step);
  const auto end = recorded.step_start_ns(last);
  const auto begin = recorded.step_start_ns(last - 1);
  if (!begin || !end || *end <= *begin) return std::nullopt;
  return Interval{*begin, *end};
}

bool is_inside(const TraceEvent& event, const Interval& window) {
  return event.begin_ns < window.end_ns && event.end_ns > window.begin_ns;
}

}  // namespace

PredictedTimeline last_iteration(const TraceRecorder& recorded, std::int64_t rank) {
  PredictedTimeline timeline;
  timeline.rank = rank;
  auto events = recorded.events();
  const auto window = last_window(recorded, events);
  if (!window) return timeline;
  timeline.end_ns = window->end_ns - window->begin_ns;
  std::erase_if(events, [&](const TraceEvent& event) { return !is_inside(event, *window); });
  std::ranges::stable_sort(events, {}, &TraceEvent::begin_ns);
  if (events.size() > kMostPredictedBoxes) {
    timeline.left_out = events.size() - kMostPredictedBoxes;
    events.resize(kMostPredictedBoxes);
  }
  for (const TraceEvent& event : events) timeline.lanes.push_back({event.kind, event.lane});
  std::ranges::sort(timeline.lanes);
  timeline.lanes.erase(std::unique(timeline.lanes.begin(), timeline.lanes.end()),
                       timeline.lanes.end());
  Interner names;
  for (const TraceEvent& event : events) {
    const PredictedTimeline::Lane lane{event.kind, event.lane};
    const auto place = std::ranges::lower_bound(timeline.lanes, lane);
    timeline.boxes.push_back(
        {.lane = static_cast<std::uint32_t>(place - timeline.lanes.begin()),
         .name = names.number(event.name),
         .begin_ns = std::max(event.begin_ns, window->begin_ns) - window->begin_ns,
         .end_ns = std::min(event.end_ns, window->end_ns) - window->begin_ns});
  }
  timeline.names = names.texts();
  return timeline;
}

nlohmann::json to_json(const PredictedTimeline& timeline) {
  auto lanes = nlohmann::json::array(), boxes = lanes;
  for (const auto& [kind, lane] : timeline.lanes) {
    lanes.push_back({{"rank", timeline.rank},
                     {"kind", category_of(kind)},
                     {"lane", lane},
                     {"title", track_name(kind, lane, 0)}});
  }
  for (const auto& box : timeline.boxes)
    boxes.push_back({box.lane, box.begin_ns, box.end_ns, box.name});
  return {{"end_ns", timeline.end_ns},
          {"names", timeline.names},
          {"lanes", std::move(lanes)},
          {"boxes", std::move(boxes)},
          {"left_out", timeline.left_out}};
}

}  // namespace hocket
