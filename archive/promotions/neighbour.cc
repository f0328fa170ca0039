#include "archive/promotions/neighbour.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "archive/studies/job_similarity.h"

namespace hocket {

Result<std::optional<NeighbourKey>> find_neighbour(Store& store, const ConfigKey& own) {
  UnreadRows unread;
  const auto topologies = store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto workloads = store.workloads("", &unread);
  HOCKET_TRY(workloads);
  const auto keys = store.keys();
  HOCKET_TRY(keys);
  const auto job_of = [&](const ConfigKey& key) -> std::optional<TunedJob> {
    const auto topology = std::ranges::find(*topologies, key.topology, &TopologyRow::fingerprint);
    const auto workload = std::ranges::find(*workloads, key.workload, &WorkloadRow::fingerprint);
    if (topology == topologies->end() || workload == workloads->end()) return std::nullopt;
    auto place = topology_from_json(topology->document);
    auto work = workload_from_json(workload->document);
    if (!place || !work) return std::nullopt;
    return TunedJob{std::move(*place), std::move(*work)};
  };
  const auto own_job = job_of(own);
  if (!own_job) return std::nullopt;
  std::vector<TunedJob> others;
  std::vector<ConfigKey> their_keys;
  for (const KeyRow& row : *keys) {
    if (!row.current_id || row.key == own) continue;
    auto other = job_of(row.key);
    if (!other) continue;
    others.push_back(std::move(*other));
    their_keys.push_back(row.key);
  }
  const auto order = nearest_first(*own_job, others);
  if (order.empty()) return std::nullopt;
  const TunedJob& nearest = others[order.front()];
  NeighbourKey neighbour{.key = their_keys[order.front()],
                         .distance = job_distance(*own_job, nearest),
                         .difference = readable(job_differences(nearest, *own_job)),
                         .promotion = {}};
  if (neighbour.distance > kFarthestDonor) return std::nullopt;
  auto promotion = store.current_promotion(neighbour.key.topology, neighbour.key.workload);
  HOCKET_TRY(promotion);
  if (!*promotion) return std::nullopt;
  neighbour.promotion = std::move(**promotion);
  return neighbour;
}

}  // namespace hocket
