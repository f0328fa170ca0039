#pragma once

// Finds the windows of iterations in the starts of steps, both for a running job
// (profiler/metrics/iterations.h) and for stored traces (profiler/metrics/metrics.h). Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"

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

}  // namespace hocket
