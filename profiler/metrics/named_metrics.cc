#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/statistics.h"
#include "core/plan/overlap_bound.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

/// Groups of ranks that figures are given for; of more, as where each pair of ranks has its own,
/// the kinds' figures tell enough.
constexpr std::size_t kMostNamedGroups = 8;

struct TimeFigure {
  std::string_view name;
  std::int64_t IterationMetrics::*value;
};

constexpr std::array<TimeFigure, 7> kIterationTimes{{
    {"iteration_ns", &IterationMetrics::wall_ns},
    {"compute_ns", &IterationMetrics::compute_ns},
    {"communication_ns", &IterationMetrics::communication_ns},
    {"copy_ns", &IterationMetrics::copy_ns},
    {"exposed_ns", &IterationMetrics::exposed_ns},
    {"other_ns", &IterationMetrics::other_ns},
    {"idle_ns", &IterationMetrics::idle_ns},
}};

struct GapFigure {
  std::string_view name;
  std::int64_t GapTimes::*value;
};

constexpr std::array<GapFigure, 4> kGaps{{
    {"gap_host_ns", &GapTimes::host_ns},
    {"gap_event_ns", &GapTimes::event_ns},
    {"gap_kernel_ns", &GapTimes::kernel_ns},
    {"gap_unknown_ns", &GapTimes::unknown_ns},
}};

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class Names {
 public:
  void of_rank(std::optional<std::int64_t> rank) { rank_ = rank; }

  void add(std::string name, double value) { metrics_.push_back({rank_, std::move(name), value}); }

  void add_median(std::string name, std::vector<double> values) {
    if (!values.empty()) add(std::move(name), median(std::move(values)));
  }

  std::vector<NamedMetric> take() { return std::move(metrics_); }

 private:
  std::optional<std::int64_t> rank_;
  std::vector<NamedMetric> metrics_;
};

double median_time(const RankMetrics& rank, std::int64_t IterationMetrics::*value) {
  std::vector<double> values;
  for (const IterationMetrics& i : rank.iterations) values.push_back(static_cast<double>(i.*value));
  return median(std::move(values));
}

void add_iterations(const RankMetrics& rank, Names& names) {
  names.add("iterations", static_cast<double>(rank.iterations.size()));
  if (rank.iterations.empty()) return;
  // Without any computation nothing is known of what it hides, nor of when the rank was idle.
  const bool has_computation =
      std::ranges::any_of(rank.iterations, [](const auto& i) { return i.compute_ns > 0; });
  for (const auto& [name, value] : kIterationTimes) {
    const bool needs_computation = value == &IterationMetrics::exposed_ns ||
                                   value == &IterationMetrics::other_ns ||
                                   value == &IterationMetrics::idle_ns;
    if (has_computation || !needs_computation)
      names.add(std::string(name), median_time(rank, value));
  }
  if (!has_computation) return;
  std::vector<double> overlaps, shares;
  for (const IterationMetrics& i : rank.iterations) {
    shares.push_back(ratio(i.exposed_ns, i.wall_ns));
    if (i.communication_ns > 0) overlaps.push_back(ratio(i.overlap_ns(), i.communication_ns));
  }
  names.add_median("exposed_share", std::move(shares));
  names.add_median("overlap", std::move(overlaps));
}

void add_streams(const RankMetrics& rank, Names& names) {
  if (rank.iterations.empty() || rank.streams.empty()) return;
  for (const auto& [name, value] : kGaps) {
    double sum = 0;
    for (const StreamMetrics& stream : rank.streams) sum += static_cast<double>(stream.gaps.*value);
    names.add(std::string(name), sum / static_cast<double>(rank.iterations.size()));
  }
}

void add_launches(const RankMetrics& rank, Names& names) {
  if (!rank.launch) return;
  const auto add = [&](const std::string& prefix, const LatencyFigures& figures) {
    if (figures.records == 0) return;
    names.add(prefix + "_median_ns", figures.median_ns);
    names.add(prefix + "_p95_ns", figures.p95_ns);
  };
  add("launch", rank.launch->to_idle_stream);
  add("launch_all", rank.launch->all);
}

using Collectives = std::vector<const CollectiveMetrics*>;

void add_collectives(const Collectives& collectives, const std::string& prefix, Names& names) {
  const auto add = [&](const char* name, double CollectiveMetrics::*value, bool only_positive) {
    std::vector<double> values;
    for (const CollectiveMetrics* collective : collectives) {
      if (!only_positive || collective->*value > 0) values.push_back(collective->*value);
    }
    names.add_median(prefix + name, std::move(values));
  };
  names.add(prefix + "count", static_cast<double>(collectives.size()));
  add("arrival_skew_ns", &CollectiveMetrics::arrival_skew_ns, false);
  add("wait_ns", &CollectiveMetrics::wait_ns, false);
  if (!collectives.front()->knows_transfer) return;
  add("transfer_ns", &CollectiveMetrics::transfer_ns, false);
  add("algorithm_bandwidth", &CollectiveMetrics::algorithm_bandwidth, true);
  add("bus_bandwidth", &CollectiveMetrics::bus_bandwidth, true);
}

void add_collectives(const JobMetrics& job, CollectiveKind kind, Names& names) {
  Collectives of_kind;
  std::map<std::string, Collectives> of_group;
  for (const CollectiveMetrics& collective : job.collectives) {
    if (collective.kind != kind) continue;
    of_kind.push_back(&collective);
    of_group[collective.group].push_back(&collective);
  }
  if (of_kind.empty()) return;
  const std::string prefix(to_string(kind));
  add_collectives(of_kind, prefix + ".", names);
  if (of_group.size() < 2 || of_group.size() > kMostNamedGroups) return;
  for (const auto& [group, collectives] : of_group)
    add_collectives(collectives, prefix + "@" + (group.empty() ? "all" : group) + ".", names);
}

/// Returns the rank whose iteration represents the job's: the lowest that has one.
const RankMetrics* first_rank(const JobMetrics& job) {
  const RankMetrics* first = nullptr;
  for (const RankMetrics& rank : job.ranks) {
    if (!rank.iterations.empty() && (first == nullptr || rank.rank < first->rank)) first = &rank;
  }
  return first;
}

void add_bound(const JobMetrics& job, double bound_ns, Names& names) {
  names.add("bound_ns", bound_ns);
  const RankMetrics* const rank = first_rank(job);
  if (rank == nullptr) return;
  const auto time = [&](std::int64_t IterationMetrics::*value) {
    return static_cast<std::int64_t>(median_time(*rank, value));
  };
  names.add("overlap_efficiency", overlap_efficiency(time(&IterationMetrics::compute_ns),
                                                     time(&IterationMetrics::communication_ns),
                                                     static_cast<std::int64_t>(bound_ns),
                                                     time(&IterationMetrics::wall_ns)));
}

}  // namespace

std::vector<NamedMetric> named_metrics(const JobMetrics& job, std::optional<double> bound_ns) {
  Names names;
  for (const CollectiveKind kind : kCollectiveKinds) add_collectives(job, kind, names);
  if (job.slowest_rank_ns) {
    names.add("slowest_rank", static_cast<double>(job.slowest_rank));
    names.add("slowest_rank_ns", *job.slowest_rank_ns);
  }
  if (job.headroom_ns) names.add("headroom_ns", *job.headroom_ns);
  if (bound_ns) add_bound(job, *bound_ns, names);
  for (const RankMetrics& rank : job.ranks) {
    names.of_rank(rank.rank);
    add_iterations(rank, names);
    add_streams(rank, names);
    add_launches(rank, names);
  }
  return names.take();
}

}  // namespace hocket
