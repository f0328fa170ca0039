#pragma once

// The windows of iterations, and what each of them is spent on: the one place where both are
// computed, for a running job (profiler/metrics/iterations.h) and for stored traces
// (profiler/metrics/metrics.h). Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

/// An iteration: from the start of its step's first task to that of the next step's.
struct StepWindow {
  std::int64_t step = 0;
  Interval interval = {};

  bool operator==(const StepWindow&) const = default;
};

/// The windows of the steps from `first_step` on, rising and disjoint. A step has one when the
/// start of the next step is known, too, and times do not run backwards.
std::vector<StepWindow> windows_of(std::span<const StepStart> starts, std::int64_t first_step);

/// The time that `windows` cover together.
std::vector<Interval> time_of(std::span<const StepWindow> windows);

/// What was at work when; unions.
struct Activity {
  std::vector<Interval> compute, communication, copy;
};

Activity activity_of(std::span<const TraceRecord> records);

/// Each window in parts: O((records + windows) · log records).
std::vector<IterationMetrics> measure_windows(std::span<const StepWindow> windows,
                                              const Activity& activity);

}  // namespace hocket
