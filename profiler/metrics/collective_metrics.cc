#include "profiler/metrics/collective_metrics.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/base/statistics.h"
#include "core/trace/sequenced_records.h"

namespace hocket {
namespace {

/// Largest residual with which ranks are compared, as a share of the median transfer.
constexpr double kMostResidual = 0.1;

/// Returns the index of the window that holds `time_ns`; `windows` are sorted by begin.
std::optional<std::size_t> window_at(std::span<const StepWindow> windows, std::int64_t time_ns) {
  const auto after = std::partition_point(
      windows.begin(), windows.end(),
      [&](const StepWindow& window) { return window.interval.begin_ns <= time_ns; });
  if (after == windows.begin() || time_ns >= (after - 1)->interval.end_ns) return std::nullopt;
  return static_cast<std::size_t>(after - 1 - windows.begin());
}

std::string time_text(double ns) {
  const auto rounded = std::llround(std::min(ns, 1e18));
  return rounded < 100'000 ? std::to_string(rounded) + " ns"
                           : std::to_string(rounded / 1000) + " µs";
}

bool communicates(const RankTrace& trace) {
  return std::any_of(trace.records.begin(), trace.records.end(), [](const TraceRecord& record) {
    return record.kind == TraceKind::communication;
  });
}

/// Returns why these are not the traces of all ranks; nothing if they are.
std::optional<std::string> missing_ranks(std::span<const RankTrace> traces) {
  std::set<std::int64_t> present;
  std::int64_t ranks = 1;
  for (const RankTrace& trace : traces) {
    present.insert(trace.rank);
    ranks = std::max(ranks, trace.ranks);
  }
  if (present.size() < traces.size()) return "collectives: a rank has more than one trace";
  if (std::ssize(present) >= ranks) return std::nullopt;
  return "collectives: " + std::to_string(present.size()) + " of " + std::to_string(ranks) +
         " ranks have a trace, so it is not known who came last";
}

/// Matching parts of all ranks, in the order of the traces.
class CommonParts {
 public:
  CommonParts(std::span<const RankTrace> traces, std::size_t reference)
      : ranks_(traces.size()), first_(sequenced_records(traces[reference])) {
    parts_.resize(first_.size() * ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const RecordList list = sequenced_records(traces[rank]);
      for_each_pair(first_, list,
                    [&](std::size_t i, std::size_t j) { parts_[i * ranks_ + rank] = list[j]; });
    }
  }

  std::size_t size() const { return first_.size(); }
  /// Returns the part as the reference rank recorded it.
  const TraceRecord& reference(std::size_t i) const { return *first_[i]; }
  std::span<const TraceRecord* const> on_ranks(std::size_t i) const {
    return std::span(parts_).subspan(i * ranks_, ranks_);
  }
  bool is_everywhere(std::size_t i) const {
    const auto parts = on_ranks(i);
    return std::find(parts.begin(), parts.end(), nullptr) == parts.end();
  }
  bool is_alike(std::size_t i) const {
    const auto parts = on_ranks(i);
    return std::all_of(parts.begin(), parts.end(), [&](const TraceRecord* part) {
      return part->collective == first_[i]->collective && part->bytes == first_[i]->bytes;
    });
  }

 private:
  std::size_t ranks_;
  RecordList first_, parts_;
};

CollectiveMetrics measure_part(const TraceRecord& reference,
                               std::span<const TraceRecord* const> parts,
                               std::span<const ClockFit> fits, std::int64_t ranks) {
  std::vector<double> begins, ends;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    begins.push_back(fits[rank].to_reference_ns(parts[rank]->begin_ns, reference.begin_ns));
    ends.push_back(fits[rank].to_reference_ns(parts[rank]->end_ns, reference.begin_ns));
  }
  const auto [first, last] = std::minmax_element(begins.begin(), begins.end());
  CollectiveMetrics metrics;
  metrics.sequence = reference.sequence;
  metrics.step = reference.step;
  metrics.bytes = reference.bytes;
  metrics.kind = *reference.collective;
  metrics.arrival_skew_ns = *last - *first;
  for (const double begin : begins)
    metrics.wait_ns += (*last - begin) / static_cast<double>(begins.size());
  metrics.wait_ns = std::min(metrics.wait_ns, metrics.arrival_skew_ns);
  metrics.transfer_ns = std::max(median(std::move(ends)) - *last, 0.0);
  if (metrics.transfer_ns > 0)
    metrics.algorithm_bandwidth = static_cast<double>(metrics.bytes) * 1e9 / metrics.transfer_ns;
  metrics.bus_bandwidth = metrics.algorithm_bandwidth * bus_factor(metrics.kind, ranks);
  return metrics;
}

std::string clock_of(const RankTrace& trace) {
  return "collectives: rank " + std::to_string(trace.rank) + "'s clock is ";
}

/// Returns a message for each trace whose clock cannot be related to another.
std::vector<std::string> unrelated(std::span<const RankTrace> traces,
                                   std::span<const ClockFit> fits) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (fits[i].method == "none") {
      reasons.push_back(clock_of(traces[i]) + "related to no other; profile with a clock exchange");
    }
  }
  return reasons;
}

/// Returns a message for each trace whose clock is not known well enough for such transfers.
std::vector<std::string> uncertain(std::span<const RankTrace> traces,
                                   std::span<const ClockFit> fits,
                                   const std::vector<CollectiveMetrics>& collectives) {
  std::vector<double> transfers;
  for (const CollectiveMetrics& collective : collectives)
    transfers.push_back(collective.transfer_ns);
  const double median_ns = median(std::move(transfers));
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (fits[i].residual_ns <= kMostResidual * median_ns) continue;
    reasons.push_back(clock_of(traces[i]) + "known to " + time_text(fits[i].residual_ns) +
                      ", more than a tenth of the median transfer of " + time_text(median_ns));
  }
  return reasons;
}

}  // namespace

CollectiveFigures measure_collectives(std::span<const RankTrace> traces,
                                      std::span<const ClockFit> fits, std::size_t reference,
                                      std::span<const StepWindow> windows) {
  CollectiveFigures figures;
  if (std::none_of(traces.begin(), traces.end(), communicates)) {
    figures.transfer_ns.resize(windows.size(), 0.0);
    return figures;
  }
  if (auto missing = missing_ranks(traces)) {
    figures.withheld.push_back(std::move(*missing));
    return figures;
  }
  const RankTrace& own = traces[reference];
  const bool has_windows = !windows_of(own.step_starts, kNoStep).empty();
  const CommonParts parts(traces, reference);
  std::vector<std::optional<double>> sums(windows.size(), 0.0);
  std::int64_t unlike = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TraceRecord& record = parts.reference(i);
    const auto window = window_at(windows, record.begin_ns);
    if (has_windows && !window) continue;
    const bool is_everywhere = parts.is_everywhere(i);
    if (!is_everywhere || !parts.is_alike(i)) {
      if (is_everywhere) ++unlike;
      if (window) sums[*window].reset();
      continue;
    }
    auto metrics = measure_part(record, parts.on_ranks(i), fits, std::ssize(traces));
    if (record.name < own.names.size()) metrics.name = own.names[record.name];
    if (window && sums[*window]) *sums[*window] += metrics.transfer_ns;
    figures.collectives.push_back(std::move(metrics));
  }
  if (unlike > 0) {
    figures.withheld.push_back("collectives: " + std::to_string(unlike) +
                               " differ in kind or bytes between ranks and are left out");
  }
  if (figures.collectives.empty()) {
    figures.withheld.push_back("collectives: none is in the traces of all ranks");
    return figures;
  }
  auto reasons = unrelated(traces, fits);
  if (reasons.empty()) reasons = uncertain(traces, fits, figures.collectives);
  if (reasons.empty()) {
    figures.transfer_ns = std::move(sums);
  } else {
    figures.collectives.clear();
    figures.withheld.insert(figures.withheld.end(), reasons.begin(), reasons.end());
  }
  return figures;
}

}  // namespace hocket
