#include "core/sim/part_cost.h"

#include <optional>

#include "core/sim/collective_cost.h"
#include "core/step/rank_grid.h"

namespace hocket {
namespace {

/// A rank's share of a ring over `ranks` ranks: its rounds, and the fraction of the bytes it sends.
struct RingShare {
  double rounds, bytes;
};

RingShare ring_share(std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  return {n - 1, (n - 1) / n};
}

struct GroupShape {
  std::int64_t ranks, ranks_per_host;
  std::int64_t at_once;  ///< number of groups that share a host's link
};

GroupShape shape_of(const StepDescription& step, CollectiveGroup group) {
  const RankGrid grid{step.ranks, step.ranks_per_host};
  switch (group) {
    case CollectiveGroup::inside:
      return {grid.ranks_per_host, grid.ranks_per_host, 1};
    case CollectiveGroup::between:
      return {grid.hosts(), 1, grid.ranks_per_host};
    case CollectiveGroup::world:
      break;
  }
  return {grid.ranks, grid.ranks_per_host, 1};
}

PartCost cost_on(const Cluster& cluster, const GroupShape& shape, CollectiveKind kind,
                 std::int64_t bytes) {
  PartCost cost = collective_cost(kind, bytes, shape.ranks, shape.ranks_per_host, cluster);
  cost.beta_ns_per_byte *= static_cast<double>(shape.at_once);
  return cost;
}

PartCost scaled(const PartCost& cost, double rounds, double bytes) {
  return {.alpha_ns = cost.alpha_ns * rounds,
          .beta_ns_per_byte = cost.beta_ns_per_byte * bytes,
          .latency_ns = cost.latency_ns * rounds};
}

PartCost share_of_ring(const StepDescription& step, const GroupShape& shape) {
  if (shape.ranks == step.ranks) return step.collective;
  const RingShare group = ring_share(shape.ranks), world = ring_share(step.ranks);
  return scaled(step.collective, group.rounds / world.rounds,
                group.bytes / world.bytes * static_cast<double>(shape.at_once));
}

std::optional<PartCost> known_cost(const StepDescription& step, CollectiveGroup group) {
  switch (group) {
    case CollectiveGroup::inside:
      return step.collective_inside;
    case CollectiveGroup::between:
      return step.collective_between;
    case CollectiveGroup::world:
      break;
  }
  return std::nullopt;
}

PartCost given_cost(const StepDescription& step, CollectiveGroup group, CollectiveKind kind) {
  const bool is_half = kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather;
  const auto known = known_cost(step, group);
  const PartCost all_reduce = known ? *known : share_of_ring(step, shape_of(step, group));
  const double share = is_half ? 0.5 : 1;
  return scaled(all_reduce, share, share);
}

}  // namespace

LinkTier tier_of(const StepDescription& step, CollectiveGroup group) {
  const bool one_host = step.ranks <= step.ranks_per_host;
  return one_host || group == CollectiveGroup::inside ? LinkTier::host : LinkTier::network;
}

PartCost part_cost(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                   std::int64_t bytes) {
  const GroupShape shape = shape_of(step, group);
  if (group != CollectiveGroup::world && shape.ranks == 1) return {};
  return step.cluster ? cost_on(*step.cluster, shape, kind, bytes) : given_cost(step, group, kind);
}

double least_ns_per_byte(const StepDescription& step, CollectiveKind kind, CollectiveGroup group) {
  const bool has_trees = step.cluster && kind == CollectiveKind::all_reduce &&
                         step.cluster->algorithm != CollectiveAlgorithm::ring;
  if (!has_trees) return part_cost(step, kind, group, 1).beta_ns_per_byte;
  // Trees are fastest beyond the sizes for which NCCL corrects them, and never as fast as rings.
  StepDescription rings;
  rings.ranks = step.ranks;
  rings.ranks_per_host = step.ranks_per_host;
  rings.cluster = step.cluster;
  if (rings.cluster->algorithm == CollectiveAlgorithm::automatic)
    rings.cluster->algorithm = CollectiveAlgorithm::ring;
  return part_cost(rings, kind, group, kMaxStepTaskBytes).beta_ns_per_byte;
}

}  // namespace hocket
