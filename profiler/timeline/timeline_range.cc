// Figures of a range of time.

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "profiler/timeline/timeline_state.h"

namespace hocket {
namespace {

struct NameSum {
  LaneKind kind = LaneKind::compute;
  std::uint32_t name = 0;
  std::int64_t records = 0, busy_ns = 0;
};

/// First and last record of a lane in a range.
std::pair<std::size_t, std::size_t> records_in(const LaneRecords& records, const Interval& range) {
  const std::size_t first = records.first_not_before(range.begin_ns);
  return {first, records.first_begin_from(range.end_ns, first)};
}

/// Returns whether the rank has a lane of computation, communication or copies.
bool has_activity(const TimelineState& state, const RankCover& cover) {
  for (std::uint32_t lane = cover.first_lane; lane < cover.last_lane; ++lane) {
    const LaneKind kind = state.lanes[lane].kind;
    if (kind == LaneKind::compute || kind == LaneKind::communication || kind == LaneKind::copy)
      return true;
  }
  return false;
}

RankFigures figures_of(const TimelineState& state, std::size_t rank, const Interval& range) {
  const RankCover& cover = state.covers[rank];
  const auto inside_ns = [&](const KindCover& kind) {
    return kind.inside_ns(range, state.lane_records);
  };
  RankFigures figures;
  figures.rank = state.ranks[rank].rank;
  figures.compute_ns = inside_ns(cover.compute);
  figures.communication_ns = inside_ns(cover.communication);
  figures.exposed_ns = inside_ns(cover.exposed);
  figures.copy_ns = inside_ns(cover.copy);
  if (has_activity(state, cover)) {
    figures.idle_ns = range.end_ns - range.begin_ns - figures.compute_ns - figures.exposed_ns -
                      inside_ns(cover.other);
  }
  for (std::uint32_t lane = cover.first_lane; lane < cover.last_lane; ++lane) {
    const auto [first, last] = records_in(state.lane_records[lane], range);
    figures.records += static_cast<std::int64_t>(last - first);
  }
  return figures;
}

/// Adds what the names of one kind do in a range to `sums`.
void add_names(const TimelineState& state, LaneKind kind, const Interval& range,
               std::vector<NameSum>& sums) {
  std::vector<std::pair<std::int64_t, std::int64_t>> by_name(state.names.size());
  for (const RankCover& cover : state.covers) {
    for (std::uint32_t lane = cover.first_lane; lane < cover.last_lane; ++lane) {
      if (state.lanes[lane].kind != kind) continue;
      const LaneRecords& records = state.lane_records[lane];
      const auto [first, last] = records_in(records, range);
      for (std::size_t i = first; i < last; ++i) {
        auto& [count, busy_ns] = by_name[records.name(i)];
        ++count;
        busy_ns += std::min(records.end_ns(i), range.end_ns) -
                   std::max(records.begin_ns(i), range.begin_ns);
      }
    }
  }
  for (std::uint32_t name = 0; name < by_name.size(); ++name) {
    const auto [count, busy_ns] = by_name[name];
    if (count > 0) sums.push_back({kind, name, count, busy_ns});
  }
}

std::vector<NameFigures> longest_names(const TimelineState& state, const Interval& range) {
  std::vector<NameSum> sums;
  for (const LaneKind kind : {LaneKind::compute, LaneKind::communication, LaneKind::copy,
                              LaneKind::range, LaneKind::call}) {
    add_names(state, kind, range, sums);
  }
  const std::size_t kept = std::min(sums.size(), kMaxTopNames);
  std::partial_sort(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(kept), sums.end(),
                    [](const NameSum& a, const NameSum& b) {
                      return std::tuple(-a.busy_ns, a.kind, a.name) <
                             std::tuple(-b.busy_ns, b.kind, b.name);
                    });
  std::vector<NameFigures> top;
  for (const NameSum& sum : std::span(sums).first(kept)) {
    top.push_back({sum.kind, state.names[sum.name], sum.records, sum.busy_ns});
  }
  return top;
}

}  // namespace

Result<RangeFigures> Timeline::range(std::int64_t begin_ns, std::int64_t end_ns) const {
  if (end_ns < begin_ns) {
    return invalid("a range must not end before it begins: from " + std::to_string(begin_ns) +
                   " to " + std::to_string(end_ns));
  }
  const Interval range{std::clamp<std::int64_t>(begin_ns, 0, state_->end_ns),
                       std::clamp<std::int64_t>(end_ns, 0, state_->end_ns)};
  RangeFigures figures{range.begin_ns, range.end_ns, {}, longest_names(*state_, range)};
  for (std::size_t rank = 0; rank < state_->ranks.size(); ++rank) {
    figures.ranks.push_back(figures_of(*state_, rank, range));
  }
  return figures;
}

}  // namespace hocket
