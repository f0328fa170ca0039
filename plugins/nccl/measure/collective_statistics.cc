#include "plugins/nccl/measure/collective_statistics.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace hocket::nccl::measure {
namespace {

/// The lower one of two in the middle; 0 of none.
std::int64_t median(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool has_class(const MeasuredCollective& collective) {
  return collective.function >= 0 && collective.function < kFunctions;
}

/// Collects what one class's statistics need.
struct ClassSamples {
  std::uint64_t count = 0, bytes = 0;
  std::vector<std::int64_t> times_ns, waiting_ns;
  std::map<std::tuple<int, int, int>, std::uint64_t> ways;

  void add(const MeasuredCollective& collective) {
    ++count;
    bytes += collective.bytes;
    ++ways[{collective.algorithm, collective.protocol, collective.channels}];
  }
};

using Classes = std::map<int, ClassSamples>;

ClassSamples& samples_of(Classes& classes, const MeasuredCollective& collective) {
  return classes[class_of(collective.function, collective.bytes).index()];
}

std::vector<ClassStatistics> summary_of(Classes& classes) {
  std::vector<ClassStatistics> all;
  for (auto& [index, samples] : classes) {
    ClassStatistics its;
    its.of = class_at(index);
    its.count = samples.count;
    its.bytes = samples.bytes;
    its.timed = samples.times_ns.size();
    its.median_ns = median(samples.times_ns);
    if (its.timed > 0) {
      its.min_ns = *std::min_element(samples.times_ns.begin(), samples.times_ns.end());
    }
    its.median_waiting_ns = median(samples.waiting_ns);
    for (const auto& [way, count] : samples.ways) {
      its.ways.push_back({std::get<0>(way), std::get<1>(way), std::get<2>(way), count});
    }
    std::stable_sort(its.ways.begin(), its.ways.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    all.push_back(std::move(its));
  }
  return all;
}

/// One collective as the ranks have measured it.
struct OnRanks {
  MeasuredCollective first;
  bool is_contradictory = false;
  std::map<int, std::int64_t> times_ns;  // by rank, complete ones
  std::vector<int> seen_by;
};

using Key = std::pair<int, std::uint64_t>;  // function, number

std::map<Key, OnRanks> joined(const std::vector<RankCollectives>& all) {
  std::map<Key, OnRanks> collectives;
  for (const RankCollectives& its : all) {
    for (const MeasuredCollective& collective : its.collectives) {
      if (!has_class(collective)) continue;
      auto [at, is_new] = collectives.try_emplace({collective.function, collective.sequence});
      OnRanks& on_ranks = at->second;
      if (is_new) on_ranks.first = collective;
      if (std::find(on_ranks.seen_by.begin(), on_ranks.seen_by.end(), its.rank) !=
          on_ranks.seen_by.end()) {
        continue;
      }
      on_ranks.seen_by.push_back(its.rank);
      const MeasuredCollective& first = on_ranks.first;
      on_ranks.is_contradictory |=
          std::tie(first.bytes, first.algorithm, first.protocol, first.channels) !=
          std::tie(collective.bytes, collective.algorithm, collective.protocol,
                   collective.channels);
      if (collective.is_complete()) on_ranks.times_ns[its.rank] = collective.time_ns;
    }
  }
  return collectives;
}

/// Ranks that came last, and how long the others waited then.
struct Lateness {
  std::uint64_t collectives = 0;
  std::map<int, std::uint64_t> last_in;
  std::map<int, std::vector<std::int64_t>> waiting_ns;
  std::map<int, std::vector<std::int64_t>> transfer_ns;
};

std::optional<LateRank> late_rank(Lateness& lateness) {
  for (const auto& [rank, last_in] : lateness.last_in) {
    // Half of n collectives has a standard deviation of sqrt(n) / 2, so last_in must be at
    // least n / 2 + 3 sqrt(n) / 2. Squared, since sqrt() would need libm.
    if (2 * last_in <= lateness.collectives) continue;
    const std::uint64_t excess = 2 * last_in - lateness.collectives;
    if (excess * excess < 9 * lateness.collectives) continue;
    const std::int64_t waiting_ns = median(lateness.waiting_ns[rank]);
    if (waiting_ns < median(lateness.transfer_ns[rank]) / 20) continue;
    return LateRank{rank, lateness.collectives, last_in, waiting_ns};
  }
  return std::nullopt;
}

/// Returns the rank that came last, with its time.
std::map<int, std::int64_t>::const_iterator shortest(const std::map<int, std::int64_t>& times_ns) {
  return std::min_element(times_ns.begin(), times_ns.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

/// Adds the times of one collective that is known of all ranks.
void add_times(const OnRanks& on_ranks, ClassSamples& samples, Lateness& lateness) {
  const auto [last_rank, transfer_ns] = *shortest(on_ranks.times_ns);
  samples.times_ns.push_back(transfer_ns);
  std::size_t equal = 0;
  std::vector<std::int64_t> waiting_ns;
  for (const auto& [rank, time_ns] : on_ranks.times_ns) {
    equal += time_ns == transfer_ns ? 1 : 0;
    if (rank != last_rank) waiting_ns.push_back(time_ns - transfer_ns);
  }
  samples.waiting_ns.insert(samples.waiting_ns.end(), waiting_ns.begin(), waiting_ns.end());
  if (equal > 1) return;  // nobody came last alone
  ++lateness.collectives;
  ++lateness.last_in[last_rank];
  auto& its = lateness.waiting_ns[last_rank];
  its.insert(its.end(), waiting_ns.begin(), waiting_ns.end());
  lateness.transfer_ns[last_rank].push_back(transfer_ns);
}

}  // namespace

std::vector<ClassStatistics> statistics_of(const std::vector<MeasuredCollective>& collectives) {
  Classes classes;
  for (const MeasuredCollective& collective : collectives) {
    if (!has_class(collective)) continue;
    ClassSamples& samples = samples_of(classes, collective);
    samples.add(collective);
    if (collective.is_complete()) samples.times_ns.push_back(collective.time_ns);
  }
  return summary_of(classes);
}

MergedStatistics merge(const std::vector<RankCollectives>& all, int ranks) {
  MergedStatistics merged;
  Classes classes;
  Lateness lateness;
  for (const auto& [key, on_ranks] : joined(all)) {
    if (on_ranks.is_contradictory) {
      ++merged.contradictory;
      continue;
    }
    ClassSamples& samples = samples_of(classes, on_ranks.first);
    samples.add(on_ranks.first);
    if (ranks < 1 || on_ranks.times_ns.size() != static_cast<std::size_t>(ranks)) {
      ++merged.partly_known;
    } else {
      add_times(on_ranks, samples, lateness);
    }
  }
  merged.classes = summary_of(classes);
  if (ranks > 1) merged.late = late_rank(lateness);
  return merged;
}

std::vector<std::vector<std::int64_t>> waiting_of(const std::vector<RankCollectives>& all,
                                                  int ranks, std::int64_t iteration_ns) {
  if (ranks < 2) return {};
  std::map<std::int64_t, std::vector<std::int64_t>> by_iteration;
  for (const auto& [key, on_ranks] : joined(all)) {
    const auto& times_ns = on_ranks.times_ns;
    if (on_ranks.is_contradictory || times_ns.size() != static_cast<std::size_t>(ranks)) continue;
    const auto transfer_ns = shortest(times_ns)->second;
    auto& waited_ns = by_iteration[on_ranks.first.start_ns / iteration_ns];
    waited_ns.resize(times_ns.size());
    std::size_t place = 0;
    for (const auto& [rank, time_ns] : times_ns) waited_ns[place++] += time_ns - transfer_ns;
  }
  std::vector<std::vector<std::int64_t>> waited;
  for (auto& [iteration, waited_ns] : by_iteration) waited.push_back(std::move(waited_ns));
  return waited;
}

}  // namespace hocket::nccl::measure
