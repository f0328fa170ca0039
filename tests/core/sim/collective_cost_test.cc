#include "core/sim/collective_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/core/sim/priced_kinds.h"

namespace hocket {
namespace {

constexpr Cluster kCluster{.host_link = {.bytes_per_second = 100e9, .latency_ns = 0},
                           .network_link = {.bytes_per_second = 10e9, .latency_ns = 5000},
                           .algorithm = CollectiveAlgorithm::automatic};

Cluster with(CollectiveAlgorithm algorithm) {
  Cluster cluster = kCluster;
  cluster.algorithm = algorithm;
  return cluster;
}

double time_ns(CollectiveKind kind, std::int64_t bytes, std::int64_t ranks,
               std::int64_t ranks_per_host, const Cluster& cluster) {
  const PartCost cost = collective_cost(kind, bytes, ranks, ranks_per_host, cluster);
  EXPECT_EQ(cost.latency_ns, 0);
  return cost.alpha_ns + cost.beta_ns_per_byte * static_cast<double>(bytes);
}

void expect_cost(const PartCost& cost, double alpha_ns, double beta_ns_per_byte) {
  EXPECT_NEAR(cost.alpha_ns, alpha_ns, 1e-6 * alpha_ns);
  EXPECT_NEAR(cost.beta_ns_per_byte, beta_ns_per_byte, 1e-6 * beta_ns_per_byte);
}

TEST(CollectiveCost, RingWithinAHost) {
  // 8 ranks, 10 ps per byte: 8.4 µs, and 3.4 µs for each of 14 or 7 steps.
  const Cluster ring = with(CollectiveAlgorithm::ring);
  expect_cost(collective_cost(CollectiveKind::all_reduce, 1 << 20, 8, 8, ring), 8400 + 14 * 3400,
              0.01 * 14 / 8);
  expect_cost(collective_cost(CollectiveKind::reduce_scatter, 1 << 20, 8, 8, ring), 8400 + 7 * 3400,
              0.01 * 7 / 8);
  expect_cost(collective_cost(CollectiveKind::all_gather, 1 << 20, 8, 8, ring), 8400 + 7 * 3400,
              0.01 * 7 / 8);
  expect_cost(collective_cost(CollectiveKind::broadcast, 1 << 20, 8, 8, ring), 8400 + 8 * 4000,
              0.01);
}

TEST(CollectiveCost, RingBetweenHosts) {
  // 32 ranks on 4 hosts: 6 of 62 steps between hosts, of 14 µs and twice the link's 5 µs; 100 ps
  // per byte for the network.
  const Cluster ring = with(CollectiveAlgorithm::ring);
  const double alpha_ns = 8400 + 56 * 3400 + 6 * 24000;
  expect_cost(collective_cost(CollectiveKind::all_reduce, 32 * 64 - 1, 32, 8, ring), alpha_ns,
              0.1 * 62 / 32);
  expect_cost(collective_cost(CollectiveKind::all_reduce, 32 * 64, 32, 8, ring), 1.4 * alpha_ns,
              0.1 * 62 / 32);
  expect_cost(collective_cost(CollectiveKind::all_gather, 1 << 20, 32, 8, ring),
              8400 + 28 * 3400 + 3 * 24000, 0.1 * 31 / 32);
  expect_cost(collective_cost(CollectiveKind::broadcast, 1 << 20, 32, 8, ring),
              8400 + 28 * 14000 + 4 * 24000, 0.1);
}

TEST(CollectiveCost, Tree) {
  const Cluster tree = with(CollectiveAlgorithm::tree);
  // Up and down a chain of 8 on each of 4 hosts and a tree of depth 2 between them. 1 MiB is the
  // 15th size from 64 B: half of the bandwidth.
  expect_cost(collective_cost(CollectiveKind::all_reduce, 1 << 20, 32, 8, tree),
              8400 + 2 * (7 * 4000 + 2 * 24000), 0.1 * 2 / (0.92 * 0.5));
  expect_cost(collective_cost(CollectiveKind::all_reduce, 63, 32, 8, tree),
              8400 + 2 * (7 * 4000 + 2 * 24000), 0.1 * 2 / 0.92);
  expect_cost(collective_cost(CollectiveKind::all_reduce, std::int64_t{1} << 30, 4, 1, tree),
              8400 + 2 * 2 * 24000, 0.1 * 2 / 0.92);
}

TEST(CollectiveCost, PairwiseExchange) {
  // Within a host 7 steps of 3.4 µs; with 32 ranks on 4 hosts the same steps, and 24 between hosts.
  expect_cost(collective_cost(CollectiveKind::all_to_all, 1 << 20, 8, 8, kCluster), 8400 + 7 * 3400,
              0.01 * 7 / 8);
  expect_cost(collective_cost(CollectiveKind::all_to_all, 1 << 20, 32, 8, kCluster),
              8400 + 7 * 3400 + 24 * 24000, 0.1 * 31 / 32);
}

TEST(CollectiveCost, OnlyAllReduceGoesByTree) {
  for (const CollectiveKind kind : kPricedKinds) {
    if (kind == CollectiveKind::all_reduce) continue;
    EXPECT_EQ(collective_cost(kind, 1 << 20, 32, 8, with(CollectiveAlgorithm::tree)),
              collective_cost(kind, 1 << 20, 32, 8, with(CollectiveAlgorithm::ring)));
  }
}

TEST(CollectiveCost, AutomaticTakesTheCheaper) {
  bool ring_won = false, tree_won = false;
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 40; bytes *= 4) {
    for (std::int64_t ranks = 2; ranks <= 1 << 14; ranks *= 2) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << ranks << " ranks");
      const auto kind = CollectiveKind::all_reduce;
      const double ring = time_ns(kind, bytes, ranks, 8, with(CollectiveAlgorithm::ring));
      const double tree = time_ns(kind, bytes, ranks, 8, with(CollectiveAlgorithm::tree));
      EXPECT_EQ(time_ns(kind, bytes, ranks, 8, kCluster), std::min(ring, tree));
      (ring < tree ? ring_won : tree_won) = true;
    }
  }
  EXPECT_TRUE(ring_won && tree_won);
}

TEST(CollectiveCost, OneRankIsFree) {
  for (const CollectiveKind kind : kPricedKinds) {
    EXPECT_EQ(collective_cost(kind, 1 << 20, 1, 8, kCluster), PartCost{});
  }
}

TEST(CollectiveCost, LargeAllReducesTendToTheBandwidthOfTheSlowestLink) {
  const std::int64_t bytes = std::int64_t{1} << 40;
  for (const std::int64_t ranks : {2, 7, 8, 16, 100, 1024}) {
    for (const std::int64_t ranks_per_host : {1, 8}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << ranks_per_host << " a host");
      const auto n = static_cast<double>(ranks);
      const double bytes_per_ns = ranks > ranks_per_host ? 10 : 100;
      const double expected = 2 * (n - 1) / n * static_cast<double>(bytes) / bytes_per_ns;
      EXPECT_NEAR(time_ns(CollectiveKind::all_reduce, bytes, ranks, ranks_per_host,
                          with(CollectiveAlgorithm::ring)),
                  expected, 0.01 * expected);
    }
  }
}

TEST(CollectiveCost, AHostLinkSlowerThanTheNetworkLimitsARingThatCrossesIt) {
  Cluster cluster = with(CollectiveAlgorithm::ring);
  cluster.host_link.bytes_per_second = 1e9;
  const auto beta = [&](std::int64_t ranks_per_host) {
    return collective_cost(CollectiveKind::all_gather, 1 << 20, 16, ranks_per_host, cluster)
        .beta_ns_per_byte;
  };
  EXPECT_DOUBLE_EQ(beta(8), 15.0 / 16);
  EXPECT_DOUBLE_EQ(beta(1), 0.1 * 15 / 16);
}

// More bytes never cost less on the ring. The tree's correction is a step function of the size, as
// in NCCL, so there the cost never falls only when the bytes double.
TEST(CollectiveCost, GrowsWithBytes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::int64_t>(1 + random() % 4096);
    const auto ranks_per_host = static_cast<std::int64_t>(1 + random() % 16);
    const auto bytes = static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 40)));
    const auto more = bytes + static_cast<std::int64_t>(random() % 100'000);
    for (const CollectiveKind kind : kPricedKinds) {
      const Cluster ring = with(CollectiveAlgorithm::ring);
      EXPECT_LE(time_ns(kind, bytes, ranks, ranks_per_host, ring),
                time_ns(kind, more, ranks, ranks_per_host, ring));
      EXPECT_LE(time_ns(kind, bytes, ranks, ranks_per_host, kCluster),
                time_ns(kind, 2 * bytes, ranks, ranks_per_host, kCluster));
    }
  }
}

// For sizes on the ring's plateau, which in NCCL ends at a certain number of ranks.
TEST(CollectiveCost, GrowsWithRanks) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::int64_t>(1 + random() % 4096);
    const auto more = ranks + static_cast<std::int64_t>(random() % 64);
    const auto ranks_per_host = static_cast<std::int64_t>(1 + random() % 16);
    const auto bytes = static_cast<std::int64_t>((1 << 20) + random() % (1 << 30));
    for (const CollectiveKind kind : kPricedKinds) {
      EXPECT_LE(time_ns(kind, bytes, ranks, ranks_per_host, kCluster),
                time_ns(kind, bytes, more, ranks_per_host, kCluster));
    }
  }
}

TEST(CollectiveCost, IsFiniteAndNotNegativeUpToTheLimits) {
  for (const CollectiveKind kind : kPricedKinds) {
    for (const std::int64_t ranks : {std::int64_t{2}, std::int64_t{9}, kMaxStepRanks}) {
      for (const std::int64_t ranks_per_host : {std::int64_t{1}, std::int64_t{8}, kMaxStepRanks}) {
        for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, kMaxStepTaskBytes}) {
          for (const auto algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree}) {
            const PartCost cost =
                collective_cost(kind, bytes, ranks, ranks_per_host, with(algorithm));
            EXPECT_TRUE(std::isfinite(cost.alpha_ns) && std::isfinite(cost.beta_ns_per_byte));
            EXPECT_GT(cost.alpha_ns, 0);
            EXPECT_GT(cost.beta_ns_per_byte, 0);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hocket
