#include "profiler/timeline/rank_cover.h"

#include <algorithm>
#include <utility>

namespace hocket {

std::vector<Interval> difference_of(const std::vector<Interval>& a,
                                    const std::vector<Interval>& b) {
  std::vector<Interval> left;
  std::size_t next = 0;
  for (const Interval& interval : a) {
    std::int64_t from_ns = interval.begin_ns;
    while (next < b.size() && b[next].end_ns <= from_ns) ++next;
    for (std::size_t i = next; i < b.size() && b[i].begin_ns < interval.end_ns; ++i) {
      if (from_ns < b[i].begin_ns) left.push_back({from_ns, b[i].begin_ns});
      from_ns = b[i].end_ns;
    }
    if (from_ns < interval.end_ns) left.push_back({from_ns, interval.end_ns});
  }
  return left;
}

KindCover::KindCover(std::vector<Interval> of_kind, std::optional<std::uint32_t> lane)
    : lane_(lane) {
  if (lane_ || of_kind.empty()) return;
  of_kind.shrink_to_fit();
  // A coverage has each interval and one time for it.
  bytes_ = of_kind.size() * (sizeof(Interval) + sizeof(std::int64_t));
  coverage_.emplace(std::move(of_kind));
}

std::int64_t KindCover::inside_ns(const Interval& window,
                                  std::span<const LaneRecords> records) const {
  if (lane_) return records[*lane_].busy_ns(window);
  return coverage_ ? coverage_->inside_ns(window) : 0;
}

}  // namespace hocket
