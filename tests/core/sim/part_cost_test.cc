#include "core/sim/part_cost.h"

#include <gtest/gtest.h>

#include <random>

#include "core/sim/collective_cost.h"
#include "tests/core/sim/priced_kinds.h"
#include "tests/core/step/random_mesh.h"

namespace hocket {
namespace {

using Kind = CollectiveKind;
using Group = CollectiveGroup;

constexpr std::int64_t kMiB = 1 << 20;

StepDescription two_hosts_of_four(bool with_links) {
  StepDescription step;
  step.ranks = 8;
  step.ranks_per_host = 4;
  step.collective = {7000, 0.7, 1400};
  if (with_links) {
    step.cluster = Cluster{.host_link = {1e11, 1000},
                           .network_link = {1e9, 20'000},
                           .algorithm = CollectiveAlgorithm::automatic};
  }
  return step;
}

void expect_near(const PartCost& cost, const PartCost& expected) {
  EXPECT_DOUBLE_EQ(cost.alpha_ns, expected.alpha_ns);
  EXPECT_DOUBLE_EQ(cost.beta_ns_per_byte, expected.beta_ns_per_byte);
  EXPECT_DOUBLE_EQ(cost.latency_ns, expected.latency_ns);
}

TEST(PartCost, GivenCostsAreThoseOfAnAllReduceOfWhichTheOthersAreHalf) {
  const auto step = two_hosts_of_four(false);
  for (const Kind kind : {Kind::all_reduce, Kind::broadcast, Kind::all_to_all})
    EXPECT_EQ(part_cost(step, kind, Group::world, kMiB), step.collective);
  for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather})
    expect_near(part_cost(step, kind, Group::world, kMiB), {3500, 0.35, 700});
}

TEST(PartCost, GivenCostsOfAGroupAreItsShareOfTheRing) {
  const auto step = two_hosts_of_four(false);
  // A ring over 8 ranks has 7 rounds per direction and sends 7/8 of the bytes; over 4: 3 and 3/4;
  // over 2: 1 and 1/2, and four such groups share the network.
  expect_near(part_cost(step, Kind::all_reduce, Group::inside, kMiB), {3000, 0.6, 600});
  expect_near(part_cost(step, Kind::all_reduce, Group::between, kMiB), {1000, 1.6, 200});
  expect_near(part_cost(step, Kind::all_gather, Group::between, kMiB), {500, 0.8, 100});
}

TEST(PartCost, KnownCostsOfAGroupAreTakenInPlaceOfShares) {
  auto step = two_hosts_of_four(false);
  step.collective_inside = PartCost{100, 0.1, 10};
  step.collective_between = PartCost{200, 3, 20};
  EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::inside, kMiB), *step.collective_inside);
  EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::between, kMiB), *step.collective_between);
  expect_near(part_cost(step, Kind::reduce_scatter, Group::inside, kMiB), {50, 0.05, 5});
  expect_near(part_cost(step, Kind::all_gather, Group::between, kMiB), {100, 1.5, 10});
  EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::world, kMiB), step.collective);
  step.cluster = two_hosts_of_four(true).cluster;
  EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::inside, kMiB),
            part_cost(two_hosts_of_four(true), Kind::all_reduce, Group::inside, kMiB));
}

TEST(PartCost, AGroupOfOneRankCostsNothingAndOneOfAllCostsWhatTheWorldDoes) {
  for (const bool with_links : {false, true}) {
    auto step = two_hosts_of_four(with_links);
    step.ranks_per_host = 1;
    EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::inside, kMiB), PartCost{});
    EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::between, kMiB),
              part_cost(step, Kind::all_reduce, Group::world, kMiB));
    step.ranks_per_host = 8;
    EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::between, kMiB), PartCost{});
    EXPECT_EQ(part_cost(step, Kind::all_reduce, Group::inside, kMiB),
              part_cost(step, Kind::all_reduce, Group::world, kMiB));
  }
}

TEST(PartCost, OverLinksGroupsInsideUseTheHostsLinkAndGroupsBetweenShareTheNetwork) {
  const auto step = two_hosts_of_four(true);
  for (const Kind kind : kPricedKinds) {
    EXPECT_EQ(part_cost(step, kind, Group::world, kMiB),
              collective_cost(kind, kMiB, 8, 4, *step.cluster));
    EXPECT_EQ(part_cost(step, kind, Group::inside, kMiB),
              collective_cost(kind, kMiB, 4, 4, *step.cluster));
    auto between = collective_cost(kind, kMiB, 2, 1, *step.cluster);
    between.beta_ns_per_byte *= 4;
    EXPECT_EQ(part_cost(step, kind, Group::between, kMiB), between);
  }
}

// The bytes that cross the network do not depend on the groups: an all-reduce between the hosts of
// the quarter that a rank holds takes as long as a flat ring over two hosts with one rank each.
TEST(PartCost, TheFourGroupsBetweenHostsTogetherSendWhatOneRankAHostWould) {
  const auto step = two_hosts_of_four(true);
  const double between_ns =
      part_cost(step, Kind::all_reduce, Group::between, kMiB / 4).beta_ns_per_byte *
      static_cast<double>(kMiB / 4);
  const double alone_ns =
      collective_cost(Kind::all_reduce, kMiB, 2, 1, *step.cluster).beta_ns_per_byte *
      static_cast<double>(kMiB);
  EXPECT_NEAR(between_ns, alone_ns, 1e-9 * alone_ns);
}

TEST(PartCost, OnlyWhatStaysInsideHostsLeavesTheNetworkAlone) {
  auto step = two_hosts_of_four(false);
  EXPECT_EQ(tier_of(step, Group::world), LinkTier::network);
  EXPECT_EQ(tier_of(step, Group::between), LinkTier::network);
  EXPECT_EQ(tier_of(step, Group::inside), LinkTier::host);
  step.ranks_per_host = 8;
  for (const Group group : kWorldGroups) EXPECT_EQ(tier_of(step, group), LinkTier::host);
}

TEST(PartCost, AGroupOfAxesCostsWhatItsRanksCost) {
  auto step = two_hosts_of_four(true);
  step.mesh = {{"pipeline", 2}, {"data", 2}, {"tensor", 2}};
  const Mesh mesh = mesh_of(step);
  const auto cost = [&](const char* group) {
    return part_cost(step, Kind::all_reduce, mesh.parse_group(group).value(), kMiB);
  };
  // The same ranks under another name.
  EXPECT_EQ(cost("data+tensor"), cost("inside"));
  EXPECT_EQ(cost("pipeline"), cost("between"));
  EXPECT_EQ(cost("pipeline+data+tensor"), cost("world"));
  // Two ranks on each of two hosts, and two such groups on a host's link.
  PartCost expected = collective_cost(Kind::all_reduce, kMiB, 4, 2, *step.cluster);
  expected.beta_ns_per_byte *= 2;
  EXPECT_EQ(cost("pipeline+tensor"), expected);
  EXPECT_EQ(cost("tensor"), collective_cost(Kind::all_reduce, kMiB, 2, 2, *step.cluster));
  EXPECT_EQ(tier_of(step, mesh.parse_group("tensor").value()), LinkTier::host);
  EXPECT_EQ(tier_of(step, mesh.parse_group("pipeline+tensor").value()), LinkTier::network);
  EXPECT_EQ(tier_of(step, mesh.parse_group("pipeline+tensor:inside").value()), LinkTier::host);
}

TEST(PartCost, OfAShiftIsThatOfAMessageOnAHostsLink) {
  auto step = two_hosts_of_four(true);
  step.mesh = {{"data", 4}, {"tensor", 2}};
  StepTask task;
  task.collective = Kind::shift;
  const auto beta = [&](const char* group, std::int64_t distance) {
    task.group = mesh_of(step).parse_group(group).value();
    task.peer = MessagePeer{distance, true};
    EXPECT_EQ(least_ns_per_byte(step, task), shift_cost(step, task).beta_ns_per_byte);
    return shift_cost(step, task).beta_ns_per_byte;
  };
  const double inside = message_cost(step, false).beta_ns_per_byte;
  const double network = message_cost(step, true).beta_ns_per_byte;
  EXPECT_EQ(beta("tensor", 1), inside);
  // A host has two groups of two ranks.
  EXPECT_EQ(beta("data", 1), 2 * network);
  EXPECT_EQ(beta("data", -2), 4 * network);
  EXPECT_EQ(beta("world", -1), network);
  EXPECT_EQ(beta("world", 3), 3 * network);
  EXPECT_EQ(beta("world", -6), 2 * network);
  EXPECT_EQ(beta("world", 0), 0);
  EXPECT_EQ(shift_cost(step, task), PartCost{});
  task.peer = MessagePeer{3, true};
  EXPECT_EQ(shift_cost_alone(step, task), message_cost(step, true));
  // Given a message's cost, it needs no links.
  step.message = PartCost{50, 3, 7};
  EXPECT_EQ(shift_cost(step, task), (PartCost{50, 9, 7}));
}

TEST(PartCost, NoPartHasALesserBetaThanTheLeast) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StepDescription step;
    step.ranks_per_host = 1 + static_cast<std::int64_t>(random() % 8);
    step.ranks = step.ranks_per_host * (1 + static_cast<std::int64_t>(random() % 40));
    step.collective = {1000, 0.3, 100};
    if (random() % 4 > 0) {
      step.cluster = Cluster{.host_link = {1e9 * static_cast<double>(1 + random() % 300), 1000},
                             .network_link = {1e8 * static_cast<double>(1 + random() % 300), 9000},
                             .algorithm = static_cast<CollectiveAlgorithm>(random() % 3)};
    }
    const Kind kind = kPricedKinds[random() % kPricedKinds.size()];
    const Mesh mesh = random_mesh(random);
    if (step.cluster && random() % 2 == 0) {
      step.ranks = mesh.grid().ranks;
      step.ranks_per_host = mesh.grid().ranks_per_host;
      step.mesh.assign(mesh.axes().begin(), mesh.axes().end());
    }
    const Group group = step.mesh.empty() ? kWorldGroups[random() % kWorldGroups.size()]
                                          : random_group(mesh, random);
    StepTask task;
    task.collective = kind;
    task.group = group;
    const double least = least_ns_per_byte(step, task);
    double found = part_cost(step, kind, group, kMaxStepTaskBytes).beta_ns_per_byte;
    for (int bits = 0; bits < 42; ++bits) {
      const auto bytes =
          static_cast<std::int64_t>(std::uint64_t{1} << bits | random() % (1ull << bits));
      const double beta = part_cost(step, kind, group, bytes).beta_ns_per_byte;
      found = std::min(found, beta);
      ASSERT_LE(least, beta) << bytes;
    }
    ASSERT_DOUBLE_EQ(least, found) << "some part has it";
  }
}

}  // namespace
}  // namespace hocket
