#include "profiler/intervals.h"

#include <algorithm>

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

}  // namespace hocket
