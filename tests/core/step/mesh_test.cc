// Tests groups of a mesh against their definition, rank by rank.

#include "core/step/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/step/random_mesh.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Mesh mesh_of(std::vector<MeshAxis> axes, const RankGrid& grid) {
  auto mesh = Mesh::make(std::move(axes), grid);
  EXPECT_TRUE(mesh) << mesh.error().message;
  return mesh.value_or(Mesh());
}

std::string refusal(std::vector<MeshAxis> axes, const RankGrid& grid) {
  const auto mesh = Mesh::make(std::move(axes), grid);
  return mesh ? "" : mesh.error().message;
}

/// Coordinates of a rank, by axis.
std::vector<std::int64_t> place_of(const Mesh& mesh, std::int64_t rank) {
  std::vector<std::int64_t> place(mesh.axes().size());
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = rank % mesh.axes()[i].size;
    rank /= mesh.axes()[i].size;
  }
  return place;
}

/// The definition of a set of axes: its ranks differ in these alone.
bool are_together(const Mesh& mesh, AxisSet axes, std::int64_t a, std::int64_t b) {
  const auto one = place_of(mesh, a), other = place_of(mesh, b);
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != other[i] && !axes.has(i)) return false;
  return true;
}

TEST(Mesh, GroupsAreTheRanksThatDifferInTheirAxesAlone) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Mesh mesh = random_mesh(random);
    const RankGrid& grid = mesh.grid();
    const AxisSet axes = random_axes(mesh, random);
    for (std::int64_t rank = 0; rank < grid.ranks; ++rank) {
      std::vector<std::int64_t> whole, inside;
      for (std::int64_t other = 0; other < grid.ranks; ++other) {
        if (!are_together(mesh, axes, rank, other)) continue;
        whole.push_back(other);
        if (grid.host_of(other) == grid.host_of(rank)) inside.push_back(other);
      }
      EXPECT_EQ(mesh.ranks_of({axes}, rank), whole);
      EXPECT_EQ(mesh.ranks_of({axes, GroupTier::inside}, rank), inside);
      const RankGrid own = mesh.grid_of(axes);
      EXPECT_EQ(own.ranks, std::ssize(whole));
      EXPECT_EQ(own.ranks_per_host, std::ssize(inside));
      // A rank's place in its grid, and the way back.
      const std::int64_t index = mesh.index_in(axes, rank);
      EXPECT_EQ(whole[static_cast<std::size_t>(index)], rank);
      for (std::int64_t i = 0; i < own.ranks; ++i)
        EXPECT_EQ(mesh.rank_at(axes, rank, i), whole[static_cast<std::size_t>(i)]);
      // The hosts of the grid are those that the group's ranks share; a place has one rank on each.
      std::vector<std::int64_t> between;
      for (std::int64_t i = 0; i < own.ranks; ++i)
        if (own.place_of(i) == own.place_of(index)) between.push_back(mesh.rank_at(axes, rank, i));
      EXPECT_EQ(mesh.ranks_of({axes, GroupTier::between}, rank), between);
      for (std::int64_t i = 0; i < own.ranks; ++i) {
        EXPECT_EQ(own.host_of(i) == own.host_of(index),
                  grid.host_of(mesh.rank_at(axes, rank, i)) == grid.host_of(rank));
      }
    }
  }
}

TEST(Mesh, GroupsOfAKindShareNoRankAndTheirHostsLinks) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Mesh mesh = random_mesh(random);
    for (const GroupTier tier : kGroupTiers) {
      const CollectiveGroup group{random_axes(mesh, random), tier};
      std::vector<int> seen(static_cast<std::size_t>(mesh.grid().ranks));
      std::vector<std::int64_t> groups_on_host(static_cast<std::size_t>(mesh.grid().hosts()));
      for (std::int64_t rank = 0; rank < mesh.grid().ranks; ++rank) {
        const auto ranks = mesh.ranks_of(group, rank);
        EXPECT_EQ(std::ssize(ranks), mesh.size_of(group));
        EXPECT_EQ(ranks.front(), mesh.first_rank(group, rank));
        EXPECT_TRUE(std::ranges::is_sorted(ranks));
        std::vector<std::int64_t> hosts;
        for (const std::int64_t member : ranks) hosts.push_back(mesh.grid().host_of(member));
        EXPECT_EQ(std::ranges::count(hosts, hosts.front()), mesh.size_on_host(group));
        EXPECT_EQ(mesh.crosses_hosts(group), hosts.front() != hosts.back());
        if (ranks.front() != rank) continue;
        for (const std::int64_t member : ranks) ++seen[static_cast<std::size_t>(member)];
        const auto end = std::ranges::unique(hosts).begin();
        for (auto host = hosts.begin(); host != end; ++host)
          ++groups_on_host[static_cast<std::size_t>(*host)];
      }
      EXPECT_THAT(seen, testing::Each(1));
      EXPECT_THAT(groups_on_host, testing::Each(mesh.groups_on_host(group)));
    }
  }
}

TEST(Mesh, AShiftLeavesEachHostAsOftenAsItsMembersSendToAnother) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Mesh mesh = random_mesh(random);
    const CollectiveGroup group = random_group(mesh, random);
    const std::int64_t size = mesh.size_of(group);
    for (std::int64_t distance = -size; distance <= size; ++distance) {
      for (std::int64_t rank = 0; rank < mesh.grid().ranks; ++rank) {
        const auto ranks = mesh.ranks_of(group, rank);
        std::int64_t leaves = 0;
        for (std::int64_t i = 0; i < size; ++i) {
          const auto host = [&](std::int64_t at) {
            return mesh.grid().host_of(ranks[static_cast<std::size_t>((at + size) % size)]);
          };
          const bool is_here = host(i) == mesh.grid().host_of(rank);
          leaves += is_here && host(i + distance) != host(i);
        }
        ASSERT_EQ(mesh.shifted_off_host(group, distance), leaves) << distance << " at " << rank;
      }
    }
  }
}

TEST(Mesh, WithoutAxesIsTheGridOfHostsAndPlaces) {
  const Mesh mesh(RankGrid{6, 3});
  EXPECT_EQ(mesh.grid_of({}), (RankGrid{6, 3}));
  EXPECT_THAT(mesh.ranks_of(CollectiveGroup::inside, 4), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.ranks_of(CollectiveGroup::between, 4), ElementsAre(1, 4));
  EXPECT_EQ(mesh.size_of(CollectiveGroup::world), 6);
  EXPECT_EQ(mesh.groups_on_host(CollectiveGroup::between), 3);
  EXPECT_EQ(mesh.groups_on_host(CollectiveGroup::world), 1);
}

TEST(Mesh, AnAxisMayLieInsideAndBetweenHosts) {
  const Mesh mesh = mesh_of({{"data", 4}, {"tensor", 2}}, {8, 4});
  const auto data = mesh.parse_group("data");
  ASSERT_TRUE(data);
  EXPECT_THAT(mesh.ranks_of(*data, 1), ElementsAre(1, 3, 5, 7));
  EXPECT_EQ(mesh.grid_of(data->axes), (RankGrid{4, 2}));
  EXPECT_THAT(mesh.ranks_of(*mesh.parse_group("data:inside"), 5), ElementsAre(5, 7));
  EXPECT_THAT(mesh.ranks_of(*mesh.parse_group("data:between"), 5), ElementsAre(1, 5));
  EXPECT_EQ(mesh.groups_on_host(*data), 2);
}

TEST(Mesh, GroupsHaveNames) {
  const Mesh mesh = mesh_of({{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, {8, 2});
  for (const char* name : {"world", "inside", "between", "pipeline", "data+tensor",
                           "pipeline+tensor:inside", "data:between"}) {
    const auto group = mesh.parse_group(name);
    ASSERT_TRUE(group) << group.error().message;
    EXPECT_EQ(mesh.name_of(*group), name);
  }
  EXPECT_EQ(*mesh.parse_group("tensor+data"), *mesh.parse_group("data+tensor"));
  EXPECT_EQ(*mesh.parse_group("data+pipeline+tensor"), CollectiveGroup::world);
  EXPECT_EQ(*mesh.parse_group("world:inside"), CollectiveGroup::inside);
  for (const char* wrong : {"", "expert", "data+", "+data", "data+data", "data:", "data:whole",
                            "data:inside:between", "inside:between", "world+data", "Data"}) {
    const auto group = mesh.parse_group(wrong);
    ASSERT_FALSE(group) << wrong;
    EXPECT_THAT(group.error().message, HasSubstr(wrong));
  }
  EXPECT_THAT(mesh.parse_group("expert").error().message, HasSubstr("(pipeline, data, tensor)"));
  EXPECT_THAT(Mesh().parse_group("data").error().message, HasSubstr("(none)"));
  EXPECT_EQ(mesh.parse_group("\033[2J").error().message.find('\033'), std::string::npos);
}

TEST(Mesh, WhatCannotBeIsRefused) {
  EXPECT_THAT(refusal({{"data", 3}}, {4, 4}), AllOf(HasSubstr("the 4 ranks"), HasSubstr("of 3")));
  EXPECT_THAT(refusal({{"data", 4}, {"tensor", 4}}, {4, 4}), HasSubstr("a product above"));
  EXPECT_THAT(refusal({{"data", 2}, {"data", 2}}, {4, 4}), HasSubstr("twice"));
  EXPECT_THAT(refusal({{"data", 0}}, {4, 4}), HasSubstr("mesh[0].size"));
  for (const char* name : {"", "Data", "2d", "inside", "world", "a-b", "a\033b"})
    EXPECT_THAT(refusal({{name, 4}}, {4, 4}), HasSubstr("mesh[0].name")) << name;
  EXPECT_THAT(refusal({{std::string(33, 'a'), 4}}, {4, 4}), HasSubstr("mesh[0].name"));
  // Hosts of four ranks have two rows of two, but no whole row of three.
  EXPECT_THAT(refusal({{"data", 4}, {"tensor", 3}}, {12, 4}),
              AllOf(HasSubstr("mesh[1].size"), HasSubstr("tensor")));
  EXPECT_EQ(refusal({{"data", 6}, {"tensor", 2}}, {12, 4}), "");
  EXPECT_THAT(refusal({{"data", 4}}, {4, 3}), HasSubstr("ranks_per_host"));
  EXPECT_THAT(refusal(std::vector<MeshAxis>(13, {"a", 1}), {1, 1}), HasSubstr("at most 12"));
}

}  // namespace
}  // namespace hocket
