#include "core/cuda/streams/stream_mapping.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hocket {

namespace {

/// Lanes that have a stream of their own where steps are placed.
constexpr int kOwnStreams = static_cast<int>(kTaskLanes) - 1;

}  // namespace

StreamMapping::StreamMapping(int compute_streams, int channels, bool has_lanes)
    : compute_streams_(static_cast<std::uint32_t>(compute_streams)),
      channels_(static_cast<std::uint32_t>(channels)),
      order_(static_cast<std::uint32_t>(compute_streams + channels + (has_lanes ? kOwnStreams : 0) +
                                        1)) {
  HOCKET_CHECK(compute_streams > 0 && channels > 0, "at least one stream and one channel");
}

void StreamMapping::join(std::vector<StreamPosition>& positions, StreamPosition position) const {
  if (order_.has_completed(position)) return;
  for (StreamPosition& own : positions) {
    if (own.stream != position.stream) continue;
    own.number = std::max(own.number, position.number);
    return;
  }
  positions.push_back(position);
}

void StreamMapping::find_predecessors(std::optional<TaskId> collective,
                                      std::span<const Access> accesses) {
  after_.clear();
  for (const Access& access : accesses) {
    if (access.data.index >= uses_.size()) uses_.resize(access.data.index + 1);
    const Uses& uses = uses_[access.data.index];
    if (collective && uses.collective == collective) {
      join(after_, uses.before);
      continue;
    }
    join(after_, uses.writers);
    if (access.mode != AccessMode::read) join(after_, uses.readers);
  }
}

void StreamMapping::note(std::optional<TaskId> collective, std::span<const Access> accesses) {
  const StreamPosition position = placement_.position;
  for (const Access& access : accesses) {
    Uses& uses = uses_[access.data.index];
    if (access.mode == AccessMode::read) {
      join(uses.readers, position);
    } else if (collective && uses.collective == collective) {
      join(uses.writers, position);
    } else {
      uses.before.clear();
      if (collective) {
        join(uses.before, uses.writers);
        join(uses.before, uses.readers);
      }
      uses.collective = collective;
      uses.writers.assign(1, position);
      uses.readers.clear();
    }
  }
}

const StreamPlacement& StreamMapping::place_compute(std::span<const Access> accesses) {
  find_predecessors(std::nullopt, accesses);
  // Earliest begin of the task, number of waits, and number of tasks that may delay it further.
  using Cost = std::tuple<std::uint64_t, std::size_t, std::uint64_t>;
  std::uint32_t best = 0;
  Cost best_cost{std::numeric_limits<std::uint64_t>::max(), 0, 0};
  for (std::uint32_t stream = 0; stream < compute_streams_; ++stream) {
    const std::uint64_t begin = order_.begin_of(stream, after_);
    if (begin > std::get<0>(best_cost)) continue;
    order_.find_waits(stream, after_, waits_);
    const Cost cost{begin, waits_.size(), order_.left(stream)};
    if (cost >= best_cost) continue;
    best = stream;
    best_cost = cost;
    placement_.waits.swap(waits_);
  }
  placement_.position = order_.add(best, after_, placement_.waits);
  note(std::nullopt, accesses);
  return placement_;
}

const StreamPlacement& StreamMapping::place_in_lane(TaskLane lane,
                                                    std::span<const Access> accesses) {
  const std::uint32_t stream = compute_streams_ + channels_ + static_cast<std::uint32_t>(lane) - 1;
  HOCKET_CHECK(lane != TaskLane::stream && stream < order_.streams() - 1,
               "there is no stream for this lane");
  find_predecessors(std::nullopt, accesses);
  order_.find_waits(stream, after_, placement_.waits);
  placement_.position = order_.add(stream, after_, placement_.waits);
  note(std::nullopt, accesses);
  return placement_;
}

const StreamPlacement& StreamMapping::place_part(TaskId collective,
                                                 std::span<const Access> accesses,
                                                 std::uint64_t number,
                                                 std::span<const StreamPosition> also_after) {
  find_predecessors(collective, accesses);
  join(after_, also_after);
  const std::uint32_t stream = compute_streams_ + static_cast<std::uint32_t>(number % channels());
  order_.find_waits(stream, after_, placement_.waits);
  placement_.position = order_.add(stream, after_, placement_.waits);
  note(collective, accesses);
  return placement_;
}

const StreamPlacement& StreamMapping::place_release(DataId data, StreamPosition last) {
  const Access access = update(data);
  find_predecessors(std::nullopt, {&access, 1});
  placement_.position = last;
  order_.find_waits(last.stream, after_, placement_.waits);
  if (!placement_.waits.empty()) {
    const std::uint32_t stream = order_.streams() - 1;
    order_.find_waits(stream, after_, placement_.waits);
    placement_.position = order_.add(stream, after_, placement_.waits);
  }
  note(std::nullopt, {&access, 1});
  return placement_;
}

std::span<const StreamPosition> StreamMapping::predecessors(std::span<const Access> accesses) {
  find_predecessors(std::nullopt, accesses);
  return after_;
}

}  // namespace hocket
