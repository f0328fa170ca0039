#include "core/cuda/streams/stream_order.h"

#include <algorithm>

namespace hocket {

StreamOrder::StreamOrder(std::uint32_t streams) : tracks_(streams) {
  for (Track& track : tracks_) track.now.assign(row_size(), 0);
}

void StreamOrder::find_waits(std::uint32_t stream, std::span<const StreamPosition> after,
                             std::vector<StreamPosition>& waits) const {
  waits.clear();
  const auto& now = tracks_[stream].now;
  for (const StreamPosition& position : after) {
    if (position.stream != stream && position.number > now[position.stream] &&
        !has_completed(position)) {
      waits.push_back(position);
    }
  }
  if (waits.size() < 2) return;
  // No two positions are on one stream, and no chain of implications returns to its start. So a
  // position implied by a dropped one is also implied by the one for which that was dropped.
  const auto is_implied = [&](const StreamPosition& position) {
    return std::ranges::any_of(waits, [&](const StreamPosition& other) {
      return other.stream != position.stream && row(other)[position.stream] >= position.number;
    });
  };
  std::vector<StreamPosition> needed;
  std::ranges::remove_copy_if(waits, std::back_inserter(needed), is_implied);
  waits = std::move(needed);
}

std::uint64_t StreamOrder::begin_of(std::uint32_t stream,
                                    std::span<const StreamPosition> after) const {
  std::uint64_t begin = tracks_[stream].now.back();
  for (const StreamPosition& position : after)
    if (!has_completed(position)) begin = std::max(begin, row(position)[streams()]);
  return begin;
}

StreamPosition StreamOrder::add(std::uint32_t stream, std::span<const StreamPosition> after,
                                std::span<const StreamPosition> waits) {
  Track& track = tracks_[stream];
  const std::uint64_t end = begin_of(stream, after) + 1;
  for (const StreamPosition& position : waits) {
    const std::uint64_t* waited = row(position);
    for (std::uint32_t s = 0; s < streams(); ++s) track.now[s] = std::max(track.now[s], waited[s]);
  }
  track.now[stream] = ++track.last;
  track.now.back() = end;
  track.rows.insert(track.rows.end(), track.now.begin(), track.now.end());
  return {stream, track.last};
}

void StreamOrder::completed(StreamPosition position) {
  if (has_completed(position)) return;
  const std::uint64_t* run = row(position);
  for (std::uint32_t s = 0; s < streams(); ++s)
    tracks_[s].completed = std::max(tracks_[s].completed, run[s]);
  for (Track& track : tracks_) drop_rows(track);
}

void StreamOrder::drop_rows(Track& track) {
  // Rows are dropped when most of them have run, so that each row is moved about once.
  const std::uint64_t run = track.completed + 1 - track.first_row;
  constexpr std::uint64_t kDropAtLeast = 64;
  if (run < kDropAtLeast || 2 * run < track.last + 1 - track.first_row) return;
  track.rows.erase(track.rows.begin(),
                   track.rows.begin() + static_cast<std::ptrdiff_t>(run * row_size()));
  track.first_row = track.completed + 1;
}

}  // namespace hocket
