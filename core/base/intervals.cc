#include "core/base/intervals.h"

#include <algorithm>
#include <utility>

namespace hocket {

std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end_ns <= i.begin_ns; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (!merged.empty() && interval.begin_ns <= merged.back().end_ns) {
      merged.back().end_ns = std::max(merged.back().end_ns, interval.end_ns);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

std::vector<Interval> intersection_of(const std::vector<Interval>& a,
                                      const std::vector<Interval>& b) {
  std::vector<Interval> shared;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval overlap{std::max(a[i].begin_ns, b[j].begin_ns),
                           std::min(a[i].end_ns, b[j].end_ns)};
    if (overlap.begin_ns < overlap.end_ns) shared.push_back(overlap);
    a[i].end_ns < b[j].end_ns ? ++i : ++j;
  }
  return shared;
}

std::int64_t length_ns(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.end_ns - interval.begin_ns;
  return sum;
}

Coverage::Coverage(std::vector<Interval> set) : set_(std::move(set)) {
  std::int64_t sum = 0;
  before_ns_.reserve(set_.size());
  for (const Interval& interval : set_) {
    before_ns_.push_back(sum);
    sum += interval.end_ns - interval.begin_ns;
  }
}

std::int64_t Coverage::before_ns(std::int64_t time_ns) const {
  const auto after = std::partition_point(set_.begin(), set_.end(), [&](const Interval& interval) {
    return interval.begin_ns < time_ns;
  });
  if (after == set_.begin()) return 0;
  const Interval& last = *(after - 1);
  return before_ns_[static_cast<std::size_t>(after - 1 - set_.begin())] +
         std::min(time_ns, last.end_ns) - last.begin_ns;
}

std::int64_t Coverage::inside_ns(const Interval& window) const {
  if (window.end_ns <= window.begin_ns) return 0;
  return before_ns(window.end_ns) - before_ns(window.begin_ns);
}

}  // namespace hocket
