#include "profiler/formats/lane_tracks.h"

#include <iterator>
#include <string_view>
#include <utility>

namespace hocket {
namespace {

std::string_view lane_word(TraceKind kind) {
  switch (kind) {
    case TraceKind::compute:
      return "stream ";
    case TraceKind::communication:
      return "communication ";
    case TraceKind::copy:
      return "copies ";
    case TraceKind::range:
      return "thread ";
    case TraceKind::call:
      break;
  }
  return "calls ";
}

}  // namespace

bool LaneTracks::fits_first(std::int64_t begin_ns, std::int64_t end_ns) {
  if (begin_ns < latest_begin_ns_) return false;
  while (!open_ends_.empty() && open_ends_.back() <= begin_ns) open_ends_.pop_back();
  return open_ends_.empty() || end_ns <= open_ends_.back();
}

std::size_t LaneTracks::place(std::int64_t begin_ns, std::int64_t end_ns) {
  if (nests_) {
    if (tracks_ == 0) tracks_ = 1;
    if (fits_first(begin_ns, end_ns)) {
      open_ends_.push_back(end_ns);
      latest_begin_ns_ = begin_ns;
      return 0;
    }
  }
  const auto later = by_end_.upper_bound(begin_ns);
  if (later == by_end_.begin()) {
    by_end_.emplace(end_ns, tracks_);
    return tracks_++;
  }
  auto node = by_end_.extract(std::prev(later));
  node.key() = end_ns;
  return by_end_.insert(std::move(node))->second;
}

bool nests(TraceKind kind) {
  return kind == TraceKind::range || kind == TraceKind::call;
}

std::string track_name(TraceKind kind, std::int32_t lane, std::size_t track) {
  const std::string further = track == 0 ? "" : " (" + std::to_string(track + 1) + ")";
  return std::string(lane_word(kind)) + std::to_string(lane) + further;
}

}  // namespace hocket
