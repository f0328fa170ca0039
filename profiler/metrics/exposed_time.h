#pragma once

// Breaks iterations down into computation, exposed communication, other copies and idle time, both
// for a running job (profiler/metrics/iterations.h) and for stored traces
// (profiler/metrics/metrics.h), and attributes exposed communication to the collectives that cause
// it. docs/METRICS.md defines the figures. Pure.
//
// W is an iteration's window (profiler/metrics/iteration_windows.h); C, M and P are the unions of
// compute, communication and other copies inside it.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"
#include "profiler/metrics/iteration_windows.h"

namespace hocket {

/// One iteration of one rank.
struct IterationMetrics {
  std::int64_t step = 0, begin_ns = 0;
  std::int64_t wall_ns = 0;           ///< |W|
  std::int64_t compute_ns = 0;        ///< |C|
  std::int64_t communication_ns = 0;  ///< |M|
  std::int64_t copy_ns = 0;           ///< |P|
  /// Partition of W: C, M∖C, P∖(C∪M) and the rest, which sum to |W|.
  std::int64_t exposed_ns = 0, other_ns = 0, idle_ns = 0;

  std::int64_t overlap_ns() const { return communication_ns - exposed_ns; }
  bool operator==(const IterationMetrics&) const = default;
};

/// Busy time by kind, as unions.
struct BusyIntervals {
  std::vector<Interval> compute, communication, copy;
};

/// Returns the busy time of plausible records (is_plausible).
BusyIntervals busy_intervals_of(std::span<const TraceRecord> records);

/// Breaks down each window, in O((records + windows) · log records).
std::vector<IterationMetrics> measure_windows(std::span<const StepWindow> windows,
                                              const BusyIntervals& busy);

/// A time in which communication is exposed, and the record that causes it.
struct ExposedSlice {
  Interval interval = {};
  std::size_t record = 0;  ///< index into RankTrace::records

  bool operator==(const ExposedSlice&) const = default;
};

/// Returns M \ C of docs/METRICS.md over the whole trace, cut where another record causes it: of
/// several communications at once the one that began first. Slices rise and are disjoint.
/// O(n log n). Requires a trace in order.
std::vector<ExposedSlice> exposed_slices(const RankTrace& trace);

}  // namespace hocket
