#include "profiler/metrics/metrics.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"
#include "profiler/metrics/collective_metrics.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/metrics/stream_metrics.h"

namespace hocket {
namespace {

double median_of(const std::vector<IterationMetrics>& iterations,
                 std::int64_t IterationMetrics::*figure) {
  std::vector<double> values;
  for (const IterationMetrics& iteration : iterations)
    values.push_back(static_cast<double>(iteration.*figure));
  return median(std::move(values));
}

/// Computes the headroom from the iterations whose transfers are known, and notes those left out.
/// Requires a transfer time, or none, for each iteration.
void add_headroom(JobMetrics& job, const std::vector<IterationMetrics>& iterations,
                  const std::vector<std::optional<double>>& transfer_ns) {
  std::vector<IterationMetrics> complete;
  std::vector<double> transfers;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (!transfer_ns[i]) continue;
    complete.push_back(iterations[i]);
    transfers.push_back(*transfer_ns[i]);
  }
  if (complete.size() < iterations.size()) {
    job.withheld.push_back("headroom_ns: " + std::to_string(iterations.size() - complete.size()) +
                           " of " + std::to_string(iterations.size()) +
                           " iterations have collectives that are not in the traces of all ranks, "
                           "or messages, and are left out");
  }
  if (complete.empty()) return;
  job.headroom_ns =
      median_of(complete, &IterationMetrics::wall_ns) -
      std::max(median_of(complete, &IterationMetrics::compute_ns), median(std::move(transfers)));
}

void compare_ranks(JobMetrics& job) {
  std::vector<double> computes;
  double slowest_ns = -1;
  std::int64_t slowest = 0;
  for (const RankMetrics& rank : job.ranks) {
    if (rank.iterations.empty()) continue;
    computes.push_back(median_of(rank.iterations, &IterationMetrics::compute_ns));
    const bool is_slower =
        computes.back() > slowest_ns || (computes.back() == slowest_ns && rank.rank < slowest);
    if (!is_slower) continue;
    slowest_ns = computes.back();
    slowest = rank.rank;
  }
  if (computes.size() < 2) return;
  job.slowest_rank = slowest;
  job.slowest_rank_ns = slowest_ns - median(std::move(computes));
}

}  // namespace

RankMetrics measure_rank(const RankTrace& trace, std::int64_t first_step) {
  RankMetrics metrics;
  metrics.rank = trace.rank;
  if (!has_activity(trace)) return metrics;
  const std::vector<StepWindow> windows = windows_of(trace.step_starts, first_step);
  metrics.iterations = measure_windows(windows, busy_intervals_of(trace.records));
  StreamFigures figures = measure_streams(trace.records, time_of(windows));
  metrics.streams = std::move(figures.streams);
  metrics.launch = figures.launch;
  return metrics;
}

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  HOCKET_CHECK(ranks >= 1, "a collective has ranks");
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * share;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return share;
    case CollectiveKind::broadcast:
    case CollectiveKind::shift:
    case CollectiveKind::push:
    case CollectiveKind::pull:
    case CollectiveKind::send:
    case CollectiveKind::receive:
      break;
  }
  return 1;
}

JobMetrics measure_job(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                       std::int64_t first_step) {
  HOCKET_CHECK(traces.size() == fits.size(), "a fit for each trace");
  JobMetrics job;
  if (traces.empty()) return job;
  for (const RankTrace& trace : traces) job.ranks.push_back(measure_rank(trace, first_step));
  compare_ranks(job);

  const std::size_t reference = reference_index(traces);
  const auto windows = windows_of(traces[reference].step_starts, first_step);
  CollectiveFigures figures = measure_collectives(traces, fits, reference, windows);
  job.collectives = std::move(figures.collectives);
  job.withheld = std::move(figures.withheld);
  const auto& iterations = job.ranks[reference].iterations;
  if (iterations.empty() || figures.transfer_ns.empty()) return job;
  HOCKET_CHECK(figures.transfer_ns.size() == iterations.size(), "a transfer time for each window");
  add_headroom(job, iterations, figures.transfer_ns);
  return job;
}

}  // namespace hocket
