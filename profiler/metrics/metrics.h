#pragma once

// Computes the metrics of traces. docs/METRICS.md defines each figure, with its formula and its
// source. Pure.
//
// W is an iteration's window, from the start of its first task to that of the next step's; C, M and
// P are the unions of compute, communication and other copies inside it. A step has no window if
// the next step's start is not in the trace. Only time inside windows counts. Implausible records
// (is_plausible) are ignored.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/step/collective_kind.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/exposed_time.h"

namespace hocket {

/// Idle times of a stream by their cause. Gaps before work without a submission time are unknown.
struct GapTimes {
  std::int64_t host_ns = 0;    ///< time before the work was submitted
  std::int64_t event_ns = 0;   ///< time after submission until the dependencies were done
  std::int64_t kernel_ns = 0;  ///< time that remains: the switch from the record before
  std::int64_t unknown_ns = 0;

  bool operator==(const GapTimes&) const = default;
};

/// One stream or channel over all measured windows: compute, communication or copy. Its gaps lie
/// between two of its records; time before the first and after the last one counts as no gap.
struct StreamMetrics {
  TraceKind kind = TraceKind::compute;
  std::int32_t lane = 0;
  std::int64_t records = 0;  ///< records that begin in a window
  std::int64_t busy_ns = 0;
  GapTimes gaps = {};

  bool operator==(const StreamMetrics&) const = default;
};

struct LatencyFigures {
  std::int64_t records = 0;
  double median_ns = 0, p95_ns = 0;  ///< 0 without records

  bool operator==(const LatencyFigures&) const = default;
};

/// Latency from submission to begin, over the records that begin in a window.
struct LaunchLatency {
  /// Figures of records that had nothing to wait for: submitted after all earlier records of their
  /// stream had ended, and not before they were ready, where that is known.
  LatencyFigures to_idle_stream = {};
  LatencyFigures all = {};

  bool operator==(const LaunchLatency&) const = default;
};

struct RankMetrics {
  std::int64_t rank = 0;
  std::vector<IterationMetrics> iterations;
  std::vector<StreamMetrics> streams;   ///< by kind and lane
  std::optional<LaunchLatency> launch;  ///< absent without submission times

  bool operator==(const RankMetrics&) const = default;
};

/// Measures the iterations of `trace`, without those whose step is below `first_step`. A trace
/// without computation, communication and copies has none: it does not say that the rank was idle.
RankMetrics measure_rank(const RankTrace& trace, std::int64_t first_step = 0);

/// A rank's times in a collective, on rank 0's clock.
struct CollectiveArrival {
  std::int64_t rank = 0;
  double late_ns = 0;  ///< begin after the first rank's begin
  double wait_ns = 0;  ///< from its begin to the last rank's begin
  double end_ns = 0;   ///< end after the last rank's begin; negative where clocks are not exact

  bool operator==(const CollectiveArrival&) const = default;
};

/// One part of a collective over all ranks of its group. Times are on rank 0's clock; step, bytes,
/// kind and name are those that the lowest member recorded.
struct CollectiveMetrics {
  std::int64_t sequence = 0, step = kNoStep, bytes = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string name;
  std::string group;                        ///< name of its group; empty: all ranks
  std::vector<CollectiveArrival> arrivals;  ///< by rank
  /// Bound on the error of a difference between two of its ranks, from their clocks: the sum of the
  /// two largest residuals. A smaller difference is none.
  double clock_error_ns = 0;
  /// Time from the first rank's begin to the last one's.
  double arrival_skew_ns = 0;
  /// Mean over ranks of the wait for the last rank to arrive.
  double wait_ns = 0;
  /// Clocks are known well enough for the times of transfers; without, the rest is 0.
  bool knows_transfer = true;
  /// Time from the last rank's begin to the median end; at least 0.
  double transfer_ns = 0;
  /// Bytes a second: bytes / transfer, and that times the kind's factor (busbw), which makes it
  /// comparable with the link's rate for any number of ranks (NCCL's tests, PERFORMANCE.md). 0 if
  /// the transfer took no time.
  double algorithm_bandwidth = 0, bus_bandwidth = 0;

  bool operator==(const CollectiveMetrics&) const = default;
};

/// Returns 2(n−1)/n for all_reduce, (n−1)/n for all_gather, reduce_scatter and all_to_all, 1 for
/// broadcast and shift.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

struct JobMetrics {
  std::vector<RankMetrics> ranks;  ///< in the order of the traces
  /// Collectives of a known kind that all ranks of their group have and that began in a window of
  /// rank 0, by group and sequence; without step starts, all common ones. Those of groups of which
  /// a rank's trace is missing are left out. Empty, with the reason in `withheld`, if none is left
  /// or the clocks cannot be compared well enough.
  std::vector<CollectiveMetrics> collectives;
  std::vector<std::string> withheld;
  /// Difference between the slowest rank's median compute time in an iteration and the median
  /// rank's. Absent unless two ranks have iterations.
  std::optional<double> slowest_rank_ns;
  std::int64_t slowest_rank = 0;
  /// median |W| − max(median |C|, median over iterations of the sum of transfers), of rank 0, over
  /// the iterations whose collectives are all in the traces of all ranks and alike there;
  /// `withheld` counts the others. Absent without such iterations or if the transfers are withheld.
  std::optional<double> headroom_ns;

  bool operator==(const JobMetrics&) const = default;
};

/// Measures a job from its ranks' traces and their fits, in the same order. A residual above a
/// tenth of the median transfer withholds transfers, one that is also above a tenth of the median
/// arrival skew all comparisons between ranks. Collectives that end on a rank before they begin on
/// another are not of the same work, and are left out; if they are many, so is all. The lowest rank
/// replaces rank 0 if rank 0's trace is missing.
JobMetrics measure_job(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                       std::int64_t first_step = 0);

/// A figure by its name in docs/METRICS.md, as a store keeps it.
struct NamedMetric {
  std::optional<std::int64_t> rank;
  std::string name;
  double value = 0;

  bool operator==(const NamedMetric&) const = default;
};

/// Returns all figures of `job` that exist and are finite: medians over iterations and collectives;
/// for streams their sum, per iteration. With `bound_ns`, T*, includes η.
std::vector<NamedMetric> named_metrics(const JobMetrics& job, std::optional<double> bound_ns = {});

}  // namespace hocket
