#include "profiler/timeline/timeline.h"

#include <algorithm>
#include <utility>

#include "profiler/timeline/timeline_state.h"

namespace hocket {

Timeline::Timeline(std::span<const RankTrace> traces, std::span<const ClockFit> fits)
    : state_(build_timeline(traces, fits)) {}
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;
Timeline::~Timeline() = default;

std::int64_t Timeline::end_ns() const {
  return state_->end_ns;
}

std::int64_t Timeline::records() const {
  return state_->records;
}

const std::vector<std::string>& Timeline::names() const {
  return state_->names;
}

const std::vector<TimelineRank>& Timeline::ranks() const {
  return state_->ranks;
}

const std::vector<TimelineLane>& Timeline::lanes() const {
  return state_->lanes;
}

const std::vector<TimelineIteration>& Timeline::iterations() const {
  return state_->iterations;
}

const std::vector<std::string>& Timeline::notes() const {
  return state_->notes;
}

std::size_t Timeline::bytes() const {
  return state_->bytes();
}

Result<RecordDetails> Timeline::record(std::int64_t lane, std::int64_t record) const {
  if (lane < 0 || lane >= std::ssize(state_->lanes)) {
    return failure(ErrorCode::not_found, "no lane " + std::to_string(lane) + "; there are " +
                                             std::to_string(state_->lanes.size()) + " lanes");
  }
  const TimelineLane& of = state_->lanes[static_cast<std::size_t>(lane)];
  const LaneRecords& records = state_->lane_records[static_cast<std::size_t>(lane)];
  if (record < 0 || record >= std::ssize(records)) {
    return failure(ErrorCode::not_found, "no record " + std::to_string(record) + " in lane " +
                                             std::to_string(lane) + ", which has " +
                                             std::to_string(records.size()) + " records");
  }
  const auto index = static_cast<std::size_t>(record);
  LaneRecord found = records.at(index);
  RecordDetails details{
      state_->names[found.name], of.kind, of.rank, of.lane, found.begin_ns, found.end_ns};
  details.step = found.step;
  details.task = found.task;
  details.bytes = found.bytes;
  details.sequence = found.sequence;
  details.submitted_ns = found.submitted_ns;
  details.ready_ns = found.ready_ns;
  details.collective = found.collective;
  for (const RecordPlace& part : state_->joins.parts(records.join(index))) {
    const LaneRecords& on_rank = state_->lane_records[part.lane];
    details.parts.push_back({state_->lanes[part.lane].rank, part, on_rank.begin_ns(part.record),
                             on_rank.end_ns(part.record)});
  }
  if (!details.parts.empty()) {
    const auto [first, last] =
        std::minmax_element(details.parts.begin(), details.parts.end(),
                            [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    details.arrival_skew_ns = last->begin_ns - first->begin_ns;
  }
  return details;
}

}  // namespace hocket
