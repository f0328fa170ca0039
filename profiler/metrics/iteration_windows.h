#pragma once

// Computes the windows of iterations and their breakdown, both for a running job
// (profiler/metrics/iterations.h) and for stored traces (profiler/metrics/metrics.h). Pure.

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

/// Returns the windows of the steps from `first_step` on, rising and disjoint. A step has a window
/// if the next step's start is known, too, and times do not run backwards.
std::vector<StepWindow> windows_of(std::span<const StepStart> starts, std::int64_t first_step);

/// Returns the union of `windows`.
std::vector<Interval> time_of(std::span<const StepWindow> windows);

/// Busy time by kind, as unions.
struct Activity {
  std::vector<Interval> compute, communication, copy;
};

Activity activity_of(std::span<const TraceRecord> records);

/// Breaks down each window, in O((records + windows) · log records).
std::vector<IterationMetrics> measure_windows(std::span<const StepWindow> windows,
                                              const Activity& activity);

}  // namespace hocket
