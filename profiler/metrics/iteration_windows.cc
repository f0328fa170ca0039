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

Activity activity_of(std::span<const TraceRecord> records) {
  Activity activity;
  for (const TraceRecord& record : records) {
    if (!is_plausible(record)) continue;
    const Interval interval{record.begin_ns, record.end_ns};
    if (record.kind == TraceKind::compute) activity.compute.push_back(interval);
    if (record.kind == TraceKind::communication) activity.communication.push_back(interval);
    if (record.kind == TraceKind::copy) activity.copy.push_back(interval);
  }
  activity.compute = union_of(std::move(activity.compute));
  activity.communication = union_of(std::move(activity.communication));
  activity.copy = union_of(std::move(activity.copy));
  return activity;
}

std::vector<IterationMetrics> measure_windows(std::span<const StepWindow> windows,
                                              const Activity& activity) {
  std::vector<Interval> both = activity.compute;
  both.insert(both.end(), activity.communication.begin(), activity.communication.end());
  both = union_of(std::move(both));
  std::vector<Interval> all = both;
  all.insert(all.end(), activity.copy.begin(), activity.copy.end());
  const Coverage compute(activity.compute), communication(activity.communication),
      copy(activity.copy), compute_or_communication(both), busy(union_of(std::move(all)));

  std::vector<IterationMetrics> iterations;
  iterations.reserve(windows.size());
  for (const auto& [step, window] : windows) {
    IterationMetrics iteration;
    iteration.step = step;
    iteration.begin_ns = window.begin_ns;
    iteration.wall_ns = window.end_ns - window.begin_ns;
    iteration.compute_ns = compute.inside_ns(window);
    iteration.communication_ns = communication.inside_ns(window);
    iteration.copy_ns = copy.inside_ns(window);
    const std::int64_t no_copy_ns = compute_or_communication.inside_ns(window);
    const std::int64_t busy_ns = busy.inside_ns(window);
    iteration.exposed_ns = no_copy_ns - iteration.compute_ns;
    iteration.other_ns = busy_ns - no_copy_ns;
    iteration.idle_ns = iteration.wall_ns - busy_ns;
    iterations.push_back(iteration);
  }
  return iterations;
}

}  // namespace hocket
