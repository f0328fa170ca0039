#include "profiler/metrics/collective_metrics.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/base/statistics.h"
#include "core/trace/paired_collectives.h"

namespace hocket {
namespace {

/// Largest residual with which ranks are compared, as a share of the median transfer.
constexpr double kMostResidual = 0.1;
/// Error of a time in a record: some profilers write whole microseconds.
constexpr double kReadingNs = 2000;
/// Share of collectives from which contradictions of causality are no accident.
constexpr double kMostImpossible = 0.1;

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

bool has_rank_twice(std::span<const RankTrace> traces) {
  std::set<std::int64_t> present;
  for (const RankTrace& trace : traces) present.insert(trace.rank);
  return present.size() < traces.size();
}

/// Returns why no collective is complete.
std::string none_complete(std::span<const RankTrace> traces) {
  std::int64_t ranks = std::ssize(traces);
  for (const RankTrace& trace : traces) ranks = std::max(ranks, trace.ranks);
  if (std::ssize(traces) == ranks) return "collectives: none is in the traces of all ranks";
  return "collectives: " + std::to_string(traces.size()) + " of " + std::to_string(ranks) +
         " ranks have a trace, so it is not known who came last";
}

/// Returns the sum of the two largest residuals of a group.
double clock_error(const MemberGroup& group, std::span<const ClockFit> fits) {
  double largest = 0, second = 0;
  for (const std::size_t trace : group.traces) {
    second = std::max(second, std::min(largest, fits[trace].residual_ns));
    largest = std::max(largest, fits[trace].residual_ns);
  }
  return largest + second;
}

/// Returns by how much a collective ends on a rank before it begins on another, which no collective
/// does whose ranks all need one another's data; 0 if it does not.
double impossible_ns(const CollectiveMetrics& collective) {
  if (collective.kind == CollectiveKind::broadcast || collective.kind == CollectiveKind::shift)
    return 0;
  const auto first_end =
      std::ranges::min_element(collective.arrivals, {}, &CollectiveArrival::end_ns);
  return std::max(-first_end->end_ns - kReadingNs, 0.0);
}

CollectiveMetrics measure_part(const PairedCollective& collective, const MemberGroup& group,
                               std::span<const RankTrace> traces, std::span<const ClockFit> fits) {
  const TraceRecord& first = *collective.parts.front();
  const ClockFit& first_fit = fits[group.traces.front()];
  const auto origin_ns = static_cast<std::int64_t>(first_fit.to_reference_ns(first.begin_ns));
  std::vector<double> begins, ends;
  for (std::size_t i = 0; i < collective.parts.size(); ++i) {
    const ClockFit& fit = fits[group.traces[i]];
    begins.push_back(fit.to_reference_ns(collective.parts[i]->begin_ns, origin_ns));
    ends.push_back(fit.to_reference_ns(collective.parts[i]->end_ns, origin_ns));
  }
  const auto [earliest, latest] = std::minmax_element(begins.begin(), begins.end());
  CollectiveMetrics metrics;
  metrics.sequence = collective.sequence;
  metrics.step = first.step;
  metrics.bytes = first.bytes;
  metrics.kind = *first.collective;
  metrics.group = group.name;
  const RankTrace& first_trace = traces[group.traces.front()];
  if (first.name < first_trace.names.size()) metrics.name = first_trace.names[first.name];
  metrics.arrival_skew_ns = *latest - *earliest;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const double wait_ns = *latest - begins[i];
    metrics.arrivals.push_back(
        {traces[group.traces[i]].rank, begins[i] - *earliest, wait_ns, ends[i] - *latest});
    metrics.wait_ns += wait_ns / static_cast<double>(begins.size());
  }
  std::ranges::sort(metrics.arrivals, {}, &CollectiveArrival::rank);
  metrics.wait_ns = std::min(metrics.wait_ns, metrics.arrival_skew_ns);
  metrics.clock_error_ns = clock_error(group, fits);
  metrics.transfer_ns = std::max(median(std::move(ends)) - *latest, 0.0);
  if (metrics.transfer_ns > 0)
    metrics.algorithm_bandwidth = static_cast<double>(metrics.bytes) * 1e9 / metrics.transfer_ns;
  metrics.bus_bandwidth = metrics.algorithm_bandwidth * bus_factor(metrics.kind, group.ranks);
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

double median_of(const std::vector<CollectiveMetrics>& collectives,
                 double CollectiveMetrics::*value) {
  std::vector<double> values;
  for (const CollectiveMetrics& collective : collectives) values.push_back(collective.*value);
  return median(std::move(values));
}

/// Returns a message about the ranks whose clocks are not known to `most_ns`.
std::vector<std::string> uncertain(std::span<const RankTrace> traces,
                                   std::span<const ClockFit> fits, double most_ns,
                                   const std::string& than) {
  std::size_t worst = 0, others = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    others += fits[i].residual_ns > most_ns ? 1 : 0;
    if (fits[i].residual_ns > fits[worst].residual_ns) worst = i;
  }
  if (others == 0) return {};
  std::string reason = clock_of(traces[worst]) + "known to " + time_text(fits[worst].residual_ns) +
                       ", more than a tenth of " + than;
  if (others > 1) reason += ", and so are " + std::to_string(others - 1) + " others";
  return {reason};
}

void forget_transfers(std::vector<CollectiveMetrics>& collectives) {
  for (CollectiveMetrics& collective : collectives) {
    collective.knows_transfer = false;
    collective.transfer_ns = collective.algorithm_bandwidth = collective.bus_bandwidth = 0;
  }
}

/// Takes out of `figures` what the clocks do not tell, with the reasons. Returns whether transfers
/// are known.
bool withhold(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
              CollectiveFigures& figures) {
  auto& collectives = figures.collectives;
  const double transfer_ns = median_of(collectives, &CollectiveMetrics::transfer_ns);
  const double skew_ns = median_of(collectives, &CollectiveMetrics::arrival_skew_ns);
  auto reasons = unrelated(traces, fits);
  bool keeps_arrivals = false;
  if (reasons.empty()) {
    reasons = uncertain(traces, fits, kMostResidual * transfer_ns,
                        "the median transfer of " + time_text(transfer_ns));
    keeps_arrivals =
        reasons.empty() || uncertain(traces, fits, kMostResidual * skew_ns, "").empty();
  }
  const bool knows_transfers = reasons.empty();
  if (!knows_transfers && keeps_arrivals) {
    forget_transfers(collectives);
    for (std::string& reason : reasons) reason += "; arrivals differ by more and are given";
  }
  if (!keeps_arrivals) collectives.clear();
  figures.withheld.insert(figures.withheld.end(), reasons.begin(), reasons.end());
  return knows_transfers;
}

/// Measures collectives one by one, and sums the transfers of each window.
class Measuring {
 public:
  Measuring(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
            std::size_t reference, std::span<const StepWindow> windows)
      : traces_(traces),
        fits_(fits),
        reference_(reference),
        windows_(windows),
        has_windows_(!windows_of(traces[reference].step_starts, kNoStep).empty()),
        paired_(traces),
        sums_(windows.size(), 0.0) {}

  CollectiveFigures measure() {
    for (std::size_t i = 0; i < paired_.size(); ++i) take(i);
    if (unlike_ > 0) {
      figures_.withheld.push_back("collectives: " + std::to_string(unlike_) +
                                  " differ in kind or bytes between ranks and are left out");
    }
    if (figures_.collectives.empty() && impossible_ == 0) {
      figures_.withheld.push_back(has_messages_alone()
                                      ? "collectives: the ranks have none, only messages between "
                                        "two, which are not measured"
                                      : none_complete(traces_));
    } else if (unrelated(traces_, fits_).empty() && is_contradictory()) {
      figures_.collectives.clear();
    } else if (!figures_.collectives.empty() && withhold(traces_, fits_, figures_)) {
      figures_.transfer_ns = std::move(sums_);
    }
    return std::move(figures_);
  }

 private:
  bool has_messages_alone() const {
    for (std::size_t i = 0; i < paired_.size(); ++i)
      if (!paired_.is_of_message(i)) return false;
    return paired_.size() > 0;
  }

  void take(std::size_t index) {
    const PairedCollective collective = paired_[index];
    const MemberGroup& group = paired_.groups()[collective.group];
    const TraceRecord* const own = part_of_reference(collective, group);
    const auto window = window_of(collective, group, own);
    if (paired_.is_of_message(index)) {
      // A send and its receive do not end together, and one may end before the other begins.
      if (window && own) sums_[*window].reset();
      return;
    }
    if (has_windows_ && !window) return;
    const bool is_complete = paired_.is_complete(index);
    if (!is_complete || !paired_.is_alike(index)) {
      if (is_complete) ++unlike_;
      if (window && own) sums_[*window].reset();
      return;
    }
    CollectiveMetrics measured = measure_part(collective, group, traces_, fits_);
    const double impossible = impossible_ns(measured);
    doubtful_ += impossible > 0 ? 1 : 0;
    if (impossible > measured.clock_error_ns) {
      ++impossible_;
      if (window && own) sums_[*window].reset();
      return;
    }
    if (window && own && sums_[*window]) *sums_[*window] += measured.transfer_ns;
    figures_.collectives.push_back(std::move(measured));
  }

  /// Notes the collectives that cannot be. Returns whether they are so many that records are paired
  /// wrongly or the clocks are not as they seem.
  bool is_contradictory() {
    const auto all = std::ssize(figures_.collectives) + impossible_;
    const double most = kMostImpossible * static_cast<double>(all);
    const bool is_often = static_cast<double>(doubtful_) > most;
    if (impossible_ == 0 && !is_often) return false;
    figures_.withheld.push_back(
        "collectives: " + std::to_string(is_often ? doubtful_ : impossible_) + " of " +
        std::to_string(all) + " end on a rank before they begin on another" +
        (is_often ? "; the traces do not tell groups of ranks apart, or a clock jumps"
                  : " and are left out"));
    return is_often;
  }

  const TraceRecord* part_of_reference(const PairedCollective& collective,
                                       const MemberGroup& group) const {
    const auto at = std::ranges::find(group.traces, reference_);
    if (at == group.traces.end()) return nullptr;
    return collective.parts[static_cast<std::size_t>(at - group.traces.begin())];
  }

  /// Returns the window in which the collective began on the reference, or else on a member.
  std::optional<std::size_t> window_of(const PairedCollective& collective, const MemberGroup& group,
                                       const TraceRecord* own) const {
    if (own) return window_at(windows_, own->begin_ns);
    const auto first = std::ranges::find_if(collective.parts, [](const auto* p) { return p; });
    const bool has_reference = std::ranges::find(group.traces, reference_) != group.traces.end();
    if (has_reference || first == collective.parts.end()) return std::nullopt;
    const auto member = static_cast<std::size_t>(first - collective.parts.begin());
    const double at_ns = fits_[group.traces[member]].to_reference_ns((*first)->begin_ns);
    constexpr double kMost = 9e18;  // within an integer
    if (!(at_ns >= 0 && at_ns < kMost)) return std::nullopt;
    return window_at(windows_, static_cast<std::int64_t>(at_ns));
  }

  std::span<const RankTrace> traces_;
  std::span<const ClockFit> fits_;
  const std::size_t reference_;
  std::span<const StepWindow> windows_;
  const bool has_windows_;
  const PairedCollectives paired_;
  std::vector<std::optional<double>> sums_;
  std::int64_t unlike_ = 0;
  std::int64_t impossible_ = 0, doubtful_ = 0;  // beyond what the clocks allow; at all
  CollectiveFigures figures_;
};

}  // namespace

CollectiveFigures measure_collectives(std::span<const RankTrace> traces,
                                      std::span<const ClockFit> fits, std::size_t reference,
                                      std::span<const StepWindow> windows) {
  CollectiveFigures figures;
  if (std::none_of(traces.begin(), traces.end(), communicates)) {
    figures.transfer_ns.resize(windows.size(), 0.0);
    return figures;
  }
  if (has_rank_twice(traces)) {
    figures.withheld.push_back("collectives: a rank has more than one trace");
    return figures;
  }
  return Measuring(traces, fits, reference, windows).measure();
}

}  // namespace hocket
