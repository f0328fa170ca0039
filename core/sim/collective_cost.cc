#include "core/sim/collective_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "core/base/check.h"

// Formulas and constants follow ncclTopoTuneModel and ncclTopoGetAlgoTime of NCCL 2.28.9. Left out
// is what NCCL derives from hardware details that a description lacks: the caps per channel and GPU
// generation, the discount for trees that enter and leave a host at one GPU, and the rule that a
// broadcast over identical channels counts one step. A ring is one channel.

namespace hocket {
namespace {

/// Latency of one step over a link of each tier, protocol Simple.
struct HopLatency {
  double host_ns;     ///< NVLink
  double network_ns;  ///< NET
};
constexpr HopLatency kTreeHop{.host_ns = 4000, .network_ns = 14000};
constexpr HopLatency kRingHop{.host_ns = 3400, .network_ns = 14000};

constexpr double kBaseLatencyNs = 8400;  // for ring and tree

/// Lower limit of a step of a ring between hosts, from the overhead of posting to the network: 1
/// µs, times three for protocol Simple.
constexpr double kNetworkOverheadNs = 3 * 1000;

/// Latency factor of a large ring all-reduce between hosts, from kPlateauBytesPerRank on, where
/// NCCL models a plateau. (It is 1.9 for GPUs before compute capability 8.)
constexpr double kPlateauFactor = 1.4;
constexpr std::int64_t kPlateauBytesPerRank = 64;

constexpr double kTreeBandwidthFactor = 0.92;

/// Correction of a tree's bandwidth at 64 B, 128 B, …, 256 MB.
constexpr std::array<double, 23> kTreeCorrection{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                                                 .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9};

struct Shape {
  std::int64_t ranks, ranks_on_host, hosts;
};

double host_hop_ns(double hop_ns, const Cluster& cluster) {
  return hop_ns + static_cast<double>(cluster.host_link.latency_ns);
}

/// Returns the latency of a step over the network. The link's own latency counts twice: for the
/// data and for the flush that follows it.
double network_hop_ns(double hop_ns, const Cluster& cluster) {
  return hop_ns + 2 * static_cast<double>(cluster.network_link.latency_ns);
}

/// Returns the inverse bandwidth of the slowest link that the collective crosses.
double bus_ns_per_byte(const Shape& shape, const Cluster& cluster) {
  double bytes_per_second =
      shape.hosts > 1 ? cluster.network_link.bytes_per_second : cluster.host_link.bytes_per_second;
  if (shape.ranks_on_host > 1) {
    bytes_per_second = std::min(bytes_per_second, cluster.host_link.bytes_per_second);
  }
  HOCKET_CHECK(bytes_per_second > 0, "a link of the cluster has no bandwidth");
  return 1e9 / bytes_per_second;
}

struct Steps {
  std::int64_t all, between_hosts;
};

Steps ring_steps(CollectiveKind kind, const Shape& shape) {
  const bool one_host = shape.hosts == 1;
  if (kind == CollectiveKind::broadcast) return {shape.ranks, one_host ? 0 : shape.hosts};
  const std::int64_t rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
  return {rounds * (shape.ranks - 1), rounds * (shape.hosts - 1)};
}

/// Returns the latency of a ring's step within a host.
double ring_host_step_ns(CollectiveKind kind, const Shape& shape, const Cluster& cluster) {
  // A broadcast forwards whole chunks, as trees do; a ring between hosts runs at its slowest pace.
  if (kind == CollectiveKind::broadcast) {
    return host_hop_ns(shape.hosts > 1 ? kTreeHop.network_ns : kTreeHop.host_ns, cluster);
  }
  const double step_ns = host_hop_ns(kRingHop.host_ns, cluster);
  return shape.hosts > 1 ? std::max(step_ns, kNetworkOverheadNs) : step_ns;
}

PartCost ring_cost(CollectiveKind kind, std::int64_t bytes, const Shape& shape,
                   const Cluster& cluster) {
  const auto [all, between_hosts] = ring_steps(kind, shape);
  double alpha_ns =
      kBaseLatencyNs +
      static_cast<double>(all - between_hosts) * ring_host_step_ns(kind, shape, cluster) +
      static_cast<double>(between_hosts) * network_hop_ns(kRingHop.network_ns, cluster);
  if (kind == CollectiveKind::all_reduce && shape.hosts > 1 &&
      bytes / shape.ranks >= kPlateauBytesPerRank) {
    alpha_ns *= kPlateauFactor;
  }
  const double bus_bytes_per_byte = static_cast<double>(all) / static_cast<double>(shape.ranks);
  return {.alpha_ns = alpha_ns,
          .beta_ns_per_byte = bus_bytes_per_byte * bus_ns_per_byte(shape, cluster),
          .latency_ns = 0};
}

/// Cost of an all-to-all: each rank exchanges its n-th parts with one other rank at a time, first
/// with those on its host, then with the rest. NCCL has no formula for it, since it consists of
/// sends and receives; its steps are taken to be those of a ring.
PartCost pairwise_cost(const Shape& shape, const Cluster& cluster) {
  const auto ranks = static_cast<double>(shape.ranks);
  const auto on_host = static_cast<double>(shape.ranks_on_host);
  const double alpha_ns =
      kBaseLatencyNs +
      (on_host - 1) * ring_host_step_ns(CollectiveKind::all_to_all, shape, cluster) +
      (ranks - on_host) * network_hop_ns(kRingHop.network_ns, cluster);
  return {.alpha_ns = alpha_ns,
          .beta_ns_per_byte = (ranks - 1) / ranks * bus_ns_per_byte(shape, cluster),
          .latency_ns = 0};
}

/// Cost of a chain within each host and a double binary tree between the hosts, up and then down.
PartCost tree_cost(std::int64_t bytes, const Shape& shape, const Cluster& cluster) {
  const auto depth = std::bit_width(static_cast<std::uint64_t>(shape.hosts)) - 1;
  const double alpha_ns =
      kBaseLatencyNs +
      2 * (static_cast<double>(shape.ranks_on_host - 1) * host_hop_ns(kTreeHop.host_ns, cluster) +
           depth * network_hop_ns(kTreeHop.network_ns, cluster));
  double bandwidth_factor = kTreeBandwidthFactor;
  const auto size_class = std::bit_width(static_cast<std::uint64_t>(bytes) / 64);  // 0: below 64 B
  if (size_class >= 1 && static_cast<std::size_t>(size_class) <= kTreeCorrection.size()) {
    bandwidth_factor *= kTreeCorrection[static_cast<std::size_t>(size_class) - 1];
  }
  return {.alpha_ns = alpha_ns,
          .beta_ns_per_byte = 2 / bandwidth_factor * bus_ns_per_byte(shape, cluster),
          .latency_ns = 0};
}

double time_ns(const PartCost& cost, std::int64_t bytes) {
  return cost.alpha_ns + cost.beta_ns_per_byte * static_cast<double>(bytes);
}

}  // namespace

PartCost collective_cost(CollectiveKind kind, std::int64_t bytes, std::int64_t ranks,
                         std::int64_t ranks_per_host, const Cluster& cluster) {
  HOCKET_CHECK(bytes >= 0 && ranks >= 1 && ranks_per_host >= 1 && kind != CollectiveKind::shift,
               "not a collective with a cost of its own");
  if (ranks == 1) return {};
  const Shape shape{.ranks = ranks,
                    .ranks_on_host = std::min(ranks, ranks_per_host),
                    .hosts = (ranks - 1) / ranks_per_host + 1};
  if (kind == CollectiveKind::all_to_all) return pairwise_cost(shape, cluster);
  const PartCost ring = ring_cost(kind, bytes, shape, cluster);
  if (kind != CollectiveKind::all_reduce || cluster.algorithm == CollectiveAlgorithm::ring) {
    return ring;
  }
  const PartCost tree = tree_cost(bytes, shape, cluster);
  if (cluster.algorithm == CollectiveAlgorithm::tree) return tree;
  return time_ns(tree, bytes) < time_ns(ring, bytes) ? tree : ring;
}

PartCost cluster_message_cost(bool crosses_hosts, const Cluster& cluster) {
  const LinkSpec& link = crosses_hosts ? cluster.network_link : cluster.host_link;
  const double hop_ns = crosses_hosts ? network_hop_ns(kRingHop.network_ns, cluster)
                                      : host_hop_ns(kRingHop.host_ns, cluster);
  return {.alpha_ns = kBaseLatencyNs + hop_ns,
          .beta_ns_per_byte = 1e9 / link.bytes_per_second,
          .latency_ns = 0};
}

}  // namespace hocket
