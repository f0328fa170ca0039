#include "profiler/metrics/iteration_windows.h"

#include <algorithm>
#include <utility>

namespace hocket {

std::vector<StepWindow> windows_of(std::span<const StepStart> starts, std::int64_t first_step) {
  std::vector<StepStart> sorted(starts.begin(), starts.end());
  std::sort(sorted.begin(), sorted.end(), [](const StepStart& a, const StepStart& b) {
    return std::pair(a.step, a.begin_ns) < std::pair(b.step, b.begin_ns);
  });
  // If a step started twice, the first start counts.
  sorted.erase(std::unique(sorted.begin(), sorted.end(),
                           [](const auto& a, const auto& b) { return a.step == b.step; }),
               sorted.end());
  std::vector<StepWindow> windows;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    const StepStart &start = sorted[i], &next = sorted[i + 1];
    if (start.step < first_step || next.step - 1 != start.step) continue;
    const std::int64_t from_ns = windows.empty() ? 0 : windows.back().interval.end_ns;
    if (from_ns <= start.begin_ns && start.begin_ns < next.begin_ns)
      windows.push_back({start.step, {start.begin_ns, next.begin_ns}});
  }
  return windows;
}

std::vector<Interval> time_of(std::span<const StepWindow> windows) {
  std::vector<Interval> intervals;
  for (const StepWindow& window : windows) intervals.push_back(window.interval);
  return union_of(std::move(intervals));
}

}  // namespace hocket
