#include "profiler/timeline/tile.h"

#include <algorithm>
#include <bit>
#include <string>

#include "profiler/timeline/timeline_state.h"

namespace hocket {
namespace {

/// Products of a time and the index of a tile.
__extension__ using WideTime = unsigned __int128;

TileBox box_of(const LaneRecords& records, std::size_t first, std::size_t last,
               const TileSpan& span) {
  const std::int64_t begin_ns = records.begin_ns(first), end_ns = records.end_ns(last - 1);
  const RunSummary run = records.summary(first, last);
  TileBox box;
  box.begin_column = static_cast<float>(span.column_at(begin_ns));
  box.end_column = static_cast<float>(span.column_at(end_ns));
  box.name = run.name;
  box.record = static_cast<std::uint32_t>(first);
  box.records = static_cast<std::uint32_t>(last - first);
  box.join = run.join;
  if (box.records == 1) return box;
  const double outside_ns = span.before_ns(begin_ns) + span.after_ns(end_ns);
  const double length_ns = static_cast<double>(end_ns - begin_ns) - outside_ns;
  if (length_ns <= 0) return box;
  const double busy_ns = static_cast<double>(run.busy_ns) - outside_ns;
  box.busy = static_cast<float>(std::clamp(busy_ns / length_ns, 0.0, 1.0));
  return box;
}

void append(std::vector<std::uint32_t>& words, const TileBox& box) {
  for (const float number : {box.begin_column, box.end_column, box.busy}) {
    words.push_back(std::bit_cast<std::uint32_t>(number));
  }
  words.insert(words.end(), {box.name, box.record, box.records, box.join});
}

}  // namespace

TileSpan::TileSpan(std::int64_t end_ns, std::int64_t level, std::int64_t index) {
  const WideTime tiles = WideTime{1} << level;
  const WideTime begin = static_cast<WideTime>(end_ns) * static_cast<WideTime>(index);
  const WideTime end = begin + static_cast<WideTime>(end_ns);
  floor_ns_ = static_cast<std::int64_t>(begin / tiles);
  fraction_ns_ = static_cast<double>(begin % tiles) / static_cast<double>(tiles);
  ceiling_ns_ = static_cast<std::int64_t>((end + tiles - 1) / tiles);
  length_ns_ = static_cast<double>(end_ns) / static_cast<double>(tiles);
  column_ns_ = static_cast<std::int64_t>(length_ns_ / kTileColumns);
}

std::pair<std::size_t, std::size_t> TileSpan::records_in(const LaneRecords& records) const {
  // A record without length at floor_ns_ is in the tile only if the tile begins right there.
  const std::size_t first = fraction_ns_ > 0 ? records.first_end_after(floor_ns_, 0)
                                             : records.first_not_before(floor_ns_);
  return {first, records.first_begin_from(ceiling_ns_, first)};
}

double TileSpan::before_ns(std::int64_t begin_ns) const {
  return std::max(static_cast<double>(floor_ns_ - begin_ns) + fraction_ns_, 0.0);
}

double TileSpan::after_ns(std::int64_t end_ns) const {
  return std::max(static_cast<double>(end_ns - floor_ns_) - fraction_ns_ - length_ns_, 0.0);
}

double TileSpan::column_at(std::int64_t time_ns) const {
  const double since_ns = static_cast<double>(time_ns - floor_ns_) - fraction_ns_;
  return std::clamp(since_ns / length_ns_, 0.0, 1.0) * kTileColumns;
}

std::vector<TileBox> boxes_of(const LaneRecords& records, const TileSpan& span) {
  std::vector<TileBox> boxes;
  auto [first, last] = span.records_in(records);
  while (first < last) {
    // A box that is at most a column wide and the record after it are together wider than a column,
    // or the record would be in the box. This bounds the number of boxes.
    const std::int64_t limit_ns = records.begin_ns(first) + span.column_ns();
    const std::size_t next = std::clamp(records.first_end_after(limit_ns, first), first + 1, last);
    boxes.push_back(box_of(records, first, next, span));
    first = next;
  }
  return boxes;
}

Result<std::vector<std::uint32_t>> Timeline::tile(std::int64_t level, std::int64_t index,
                                                  LaneSpan lanes) const {
  if (level < 0 || level > kMaxTileLevel) {
    return invalid("level must be from 0 to " + std::to_string(kMaxTileLevel) + ", found " +
                   std::to_string(level));
  }
  const std::int64_t last_index = (std::int64_t{1} << level) - 1;
  if (index < 0 || index > last_index) {
    return invalid("index must be from 0 to " + std::to_string(last_index) + " at level " +
                   std::to_string(level) + ", found " + std::to_string(index));
  }
  const std::size_t known = state_->lanes.size();
  if (lanes.first > known) {
    return invalid("the first lane must be from 0 to " + std::to_string(known) + ", found " +
                   std::to_string(lanes.first));
  }
  const TileSpan span(state_->end_ns, level, index);
  std::vector<std::uint32_t> words = {kTileMagic, 0};
  std::vector<TileBox> boxes;
  const std::size_t count = std::min<std::size_t>(lanes.count, known - lanes.first);
  for (std::size_t lane = lanes.first; lane < lanes.first + count; ++lane) {
    const auto of_lane = boxes_of(state_->lane_records[lane], span);
    if (of_lane.empty()) continue;
    ++words[1];
    words.push_back(static_cast<std::uint32_t>(lane));
    words.push_back(static_cast<std::uint32_t>(of_lane.size()));
    boxes.insert(boxes.end(), of_lane.begin(), of_lane.end());
  }
  words.reserve(words.size() + boxes.size() * kBoxWords);
  for (const TileBox& box : boxes) append(words, box);
  return words;
}

}  // namespace hocket
