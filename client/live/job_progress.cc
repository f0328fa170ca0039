#include "client/live/job_progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Returns how much longer the other ranks wait, at their median, than `rank`.
double lateness(const CountedSteps& counted, std::size_t rank) {
  std::vector<double> others;
  for (std::size_t i = 0; i < counted.ranks.size(); ++i)
    if (i != rank) others.push_back(static_cast<double>(counted.ranks[i].waited_ns));
  return median(std::move(others)) - static_cast<double>(counted.ranks[rank].waited_ns);
}

bool has_all_waiting(const CountedSteps& counted, std::size_t ranks) {
  return counted.ranks.size() == ranks &&
         std::ranges::none_of(
             counted.ranks, [](const RankCounters& rank) { return rank.waited_ns == kNotCounted; });
}

}  // namespace

std::optional<Waiting> waiting_of(const std::deque<CountedSteps>& counted, double iteration_ns) {
  if (counted.size() < kFewestCountedSteps || iteration_ns <= 0) return std::nullopt;
  const std::size_t ranks = counted.front().ranks.size();
  if (ranks < 2) return std::nullopt;
  for (const CountedSteps& each : counted)
    if (!has_all_waiting(each, ranks)) return std::nullopt;

  const auto entries = static_cast<double>(counted.size());
  std::vector<double> waited_ns(ranks, 0);
  for (const CountedSteps& each : counted)
    for (std::size_t i = 0; i < ranks; ++i)
      waited_ns[i] += static_cast<double>(each.ranks[i].waited_ns) / entries;
  const auto least = std::ranges::min_element(waited_ns);
  const auto rank = static_cast<std::size_t>(least - waited_ns.begin());

  Waiting waiting{.exposed_ns = *least};
  double late_ns = 0;
  std::size_t late_entries = 0;
  for (const CountedSteps& each : counted) {
    const double late = lateness(each, rank);
    late_ns += late / entries;
    if (late > kLateShare * iteration_ns) ++late_entries;
  }
  if (2 * late_entries > counted.size()) {
    waiting.late_rank = static_cast<std::int64_t>(rank);
    waiting.late_ns = late_ns;
  }
  return waiting;
}

nlohmann::json to_json(const JobProgress& progress) {
  nlohmann::json document = {{"step", progress.step},
                             {"iteration_ns", progress.iteration_ns},
                             {"explored_share", progress.explored},
                             {"tried", progress.tried},
                             {"kept", progress.kept}};
  if (progress.waiting) {
    document["exposed_share"] = progress.waiting->exposed_ns / progress.iteration_ns;
    if (progress.waiting->late_rank) {
      document["late_rank"] = *progress.waiting->late_rank;
      document["late_ns"] = progress.waiting->late_ns;
    }
  }
  return document;
}

}  // namespace hocket
