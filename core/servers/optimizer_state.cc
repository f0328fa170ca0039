#include "core/servers/optimizer_state.h"

#include <algorithm>
#include <string>

namespace hocket {
namespace {

bool overlap(const TensorRange& a, const TensorRange& b) {
  return a.tensor == b.tensor && a.offset < b.offset + b.values && b.offset < a.offset + a.values;
}

}  // namespace

OptimizerState::Stretch OptimizerState::stretch_at(const TensorRange& range,
                                                   std::size_t offset) const {
  const std::size_t end = range.offset + range.values;
  const auto next = segments_.upper_bound({range.tensor, offset});
  if (next != segments_.begin()) {
    const auto before = std::prev(next);
    const auto& [tensor, begin] = before->first;
    const std::size_t segment_end = begin + before->second.values;
    if (tensor == range.tensor && offset < segment_end)
      return {offset, std::min(end, segment_end) - offset, before};
  }
  const bool is_same = next != segments_.end() && next->first.first == range.tensor;
  const std::size_t gap_end = is_same ? std::min(end, next->first.second) : end;
  return {offset, gap_end - offset, segments_.end()};
}

std::vector<OptimizerState::Stretch> OptimizerState::stretches(const TensorRange& range) const {
  std::vector<Stretch> found;
  for (std::size_t offset = range.offset; offset < range.offset + range.values;) {
    found.push_back(stretch_at(range, offset));
    offset += found.back().values;
  }
  return found;
}

std::size_t OptimizerState::missing_bytes(const TensorRange& range, int moments) const {
  std::size_t bytes = 0;
  for (const Stretch& stretch : stretches(range)) {
    const bool is_new = stretch.segment == segments_.end();
    const std::size_t values = is_new ? stretch.values : stretch.segment->second.values;
    if (is_new) bytes += sizeof(Segments::value_type);
    for (int moment = 0; moment < moments; ++moment)
      if (is_new || !stretch.segment->second.moments[static_cast<std::size_t>(moment)])
        bytes += values * sizeof(float);
  }
  return bytes;
}

Result<std::vector<OptimizerState::Piece>> OptimizerState::take(const TensorRange& range,
                                                                int moments) {
  for (const TensorRange& taken : taken_) {
    if (!overlap(taken, range)) continue;
    return invalid("values " + std::to_string(range.offset) + " to " +
                   std::to_string(range.offset + range.values) + " of tensor " +
                   std::to_string(range.tensor) +
                   " are updated twice at once; pull a step before the next one is pushed");
  }
  std::vector<Piece> pieces;
  for (const Stretch& stretch : stretches(range)) {
    if (stretch.segment == segments_.end()) bytes_ += sizeof(Segments::value_type);
    const auto known = stretch.segment == segments_.end()
                           ? segments_
                                 .emplace(std::pair(range.tensor, stretch.offset),
                                          Segment{.values = stretch.values})
                                 .first
                           : segments_.find(stretch.segment->first);
    Segment& segment = known->second;
    Piece& piece = pieces.emplace_back(
        Piece{.begin = stretch.offset - range.offset, .values = stretch.values});
    for (std::size_t i = 0; i < static_cast<std::size_t>(moments); ++i) {
      if (!segment.moments[i]) {
        // The system fills large memory with zeros when it is first used, which is not here.
        segment.moments[i].reset(static_cast<float*>(std::calloc(segment.values, sizeof(float))));
        if (!segment.moments[i]) {
          return failure(ErrorCode::unavailable,
                         "no memory is left for the optimiser's state; start more servers");
        }
        bytes_ += segment.values * sizeof(float);
      }
      const std::size_t in_segment = stretch.offset - known->first.second;
      piece.moments[i] = {segment.moments[i].get() + in_segment, stretch.values};
    }
  }
  taken_.push_back(range);
  return pieces;
}

void OptimizerState::give(const TensorRange& range) {
  taken_.erase(std::ranges::find(taken_, range));
}

}  // namespace hocket
