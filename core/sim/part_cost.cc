#include "core/sim/part_cost.h"

#include <optional>

#include "core/sim/collective_cost.h"
#include "core/step/mesh.h"

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
  // The hosts of a step that knows no other group may differ.
  if (group == CollectiveGroup::world) return {step.ranks, step.ranks_per_host, 1};
  const Mesh mesh = mesh_of(step);
  const std::int64_t on_host = mesh.size_on_host(group);
  return {mesh.size_of(group), on_host, mesh.crosses_hosts(group) ? mesh.groups_on_host(group) : 1};
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
  if (group == CollectiveGroup::inside) return step.collective_inside;
  if (group == CollectiveGroup::between) return step.collective_between;
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
  if (step.ranks <= step.ranks_per_host || group.tier == GroupTier::inside) return LinkTier::host;
  if (group.axes.is_all()) return LinkTier::network;
  return mesh_of(step).crosses_hosts(group) ? LinkTier::network : LinkTier::host;
}

PartCost part_cost(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                   std::int64_t bytes) {
  const GroupShape shape = shape_of(step, group);
  if (group != CollectiveGroup::world && shape.ranks == 1) return {};
  return step.cluster ? cost_on(*step.cluster, shape, kind, bytes) : given_cost(step, group, kind);
}

PartCost part_cost_alone(const StepDescription& step, CollectiveKind kind, CollectiveGroup group,
                         std::int64_t bytes) {
  PartCost cost = part_cost(step, kind, group, bytes);
  cost.beta_ns_per_byte /= static_cast<double>(shape_of(step, group).at_once);
  return cost;
}

PartCost message_cost(const StepDescription& step, bool crosses_hosts) {
  return step.message ? *step.message : cluster_message_cost(crosses_hosts, *step.cluster);
}

PartCost shift_cost_alone(const StepDescription& step, const StepTask& task) {
  const Mesh mesh = mesh_of(step);
  const std::int64_t size = mesh.size_of(task.group);
  if (task.peer->index % size == 0) return {};
  return message_cost(step, tier_of(step, task.group) == LinkTier::network);
}

PartCost shift_cost(const StepDescription& step, const StepTask& task) {
  PartCost cost = shift_cost_alone(step, task);
  if (tier_of(step, task.group) == LinkTier::host) return cost;
  const Mesh mesh = mesh_of(step);
  cost.beta_ns_per_byte *= static_cast<double>(mesh.groups_on_host(task.group) *
                                               mesh.shifted_off_host(task.group, task.peer->index));
  return cost;
}

double least_ns_per_byte(const StepDescription& step, const StepTask& task) {
  const CollectiveKind kind = *task.collective;
  const CollectiveGroup group = task.group;
  if (kind == CollectiveKind::shift) return shift_cost(step, task).beta_ns_per_byte;
  const bool has_trees = step.cluster && kind == CollectiveKind::all_reduce &&
                         step.cluster->algorithm != CollectiveAlgorithm::ring;
  if (!has_trees) return part_cost(step, kind, group, 1).beta_ns_per_byte;
  // Trees are fastest beyond the sizes for which NCCL corrects them, and never as fast as rings.
  StepDescription rings;
  rings.ranks = step.ranks;
  rings.ranks_per_host = step.ranks_per_host;
  rings.mesh = step.mesh;
  rings.cluster = step.cluster;
  if (rings.cluster->algorithm == CollectiveAlgorithm::automatic)
    rings.cluster->algorithm = CollectiveAlgorithm::ring;
  return part_cost(rings, kind, group, kMaxStepTaskBytes).beta_ns_per_byte;
}

double least_ns_per_byte_alone(const StepDescription& step, const StepTask& task,
                               bool crosses_hosts) {
  if (is_message(*task.collective)) return message_cost(step, crosses_hosts).beta_ns_per_byte;
  if (*task.collective == CollectiveKind::shift)
    return shift_cost_alone(step, task).beta_ns_per_byte;
  return least_ns_per_byte(step, task) / static_cast<double>(shape_of(step, task.group).at_once);
}

}  // namespace hocket
