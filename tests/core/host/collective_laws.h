#pragma once

// Laws that every Collective must satisfy, checked value by value against the definition in
// core/collective/collective.h. Each rank calls these with the same seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/collective/collective.h"
#include "core/collective/collective_blocks.h"
#include "tests/core/collective/typed_values.h"
#include "tests/core/step/random_mesh.h"

namespace hocket {

/// Returns the initial value i of `rank`: a small integer, so that float32 sums are exact in any
/// order, and those of 16 bits are if they are rounded once.
inline float integer_value(std::int64_t rank, std::size_t i, std::uint64_t seed,
                           std::int64_t range = 256) {
  const auto mixed = (seed + static_cast<std::uint64_t>(rank) * 1'000'003 + i) * 2'654'435'761u;
  return static_cast<float>(static_cast<std::int64_t>(mixed >> 8) % range - range / 2);
}

/// One to eight ranks on one or several hosts, with and without axes.
inline std::vector<Mesh> law_meshes() {
  std::vector<Mesh> meshes;
  for (const RankGrid& grid : {RankGrid{1, 1}, RankGrid{2, 1}, RankGrid{2, 2}, RankGrid{3, 1},
                               RankGrid{4, 2}, RankGrid{6, 3}, RankGrid{6, 2}})
    meshes.emplace_back(grid);
  const auto add = [&](std::vector<MeshAxis> axes, const RankGrid& grid) {
    meshes.push_back(Mesh::make(std::move(axes), grid).value());
  };
  add({{"data", 2}, {"tensor", 2}}, {4, 4});
  add({{"data", 4}, {"tensor", 2}}, {8, 4});
  add({{"pipeline", 2}, {"data", 3}}, {6, 1});
  add({{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, {8, 2});
  return meshes;
}

/// A random work with the values of `collective`'s rank.
struct LawWork {
  LawWork(const Collective& collective, std::uint64_t seed, std::int64_t range = 256)
      : mesh(collective.mesh()), rank(collective.rank()), seed(seed), range(range) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    work.kind = kCollectiveKinds[below(3)];
    work.group = random_group(mesh, random);
    grid = mesh.grid_of(work.group.axes);
    index = mesh.index_in(work.group.axes, rank);
    const std::size_t sizes[] = {1 + below(3), 1 + below(64), 1 + below(5000), below(150'000)};
    type = random_type(random);
    values = TypedValues(type, sizes[below(4)]);
    for (std::size_t i = 0; i < values.size(); ++i)
      values.set(i, integer_value(rank, i, seed, range));
    work.values = values.span();
    const auto bytes = static_cast<std::int64_t>(work.values.size_bytes());
    block_size = static_cast<std::size_t>(block_bytes(bytes, grid.ranks)) / element_bytes(type);
    work.index = seed;
    if (below(2) == 0) return;
    work.begin = below(200);
    work.end = work.begin + 1 + below(3000);
  }
  LawWork(const LawWork&) = delete;

  /// Returns the index, in the grid of the group's axes, of the rank that owns the block of value
  /// i.
  std::int64_t owner(std::size_t i) const {
    const auto block = static_cast<std::int64_t>(i / block_size);
    if (work.group.tier == GroupTier::inside)
      return grid.host_of(index) * grid.ranks_per_host + block / grid.hosts();
    const std::int64_t place = block / grid.hosts(), host = block % grid.hosts();
    return host * grid.ranks_per_host + place;
  }
  bool is_member(std::int64_t other) const {
    switch (work.group.tier) {
      case GroupTier::whole:
        return true;
      case GroupTier::inside:
        return grid.host_of(other) == grid.host_of(index);
      case GroupTier::between:
        return grid.place_of(other) == grid.place_of(index);
    }
    return false;
  }
  float initial(std::int64_t other, std::size_t i) const {
    return integer_value(mesh.rank_at(work.group.axes, rank, other), i, seed, range);
  }
  /// Returns whether value i belongs to the group and to the part.
  bool takes(std::size_t i) const {
    const bool whole = work.begin == 0 && work.end == 0;
    return is_member(owner(i)) &&
           (whole || (i % block_size >= work.begin && i % block_size < work.end));
  }
  float sum(std::size_t i) const {
    float sum = 0;
    for (std::int64_t other = 0; other < grid.ranks; ++other)
      if (is_member(other)) sum += initial(other, i);
    return rounded(type, sum);
  }

  void check() const {
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ": " << to_string(work.kind) << " "
                 << mesh.name_of(work.group) << " of " << values.size() << " values of "
                 << to_string(type) << ", of each block " << work.begin << " to " << work.end
                 << ", on rank " << rank << " of " << mesh.grid().ranks << ", "
                 << mesh.grid().ranks_per_host << " a host");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool undefined = work.kind == CollectiveKind::reduce_scatter && owner(i) != index;
      if (takes(i) && undefined) continue;
      const float expected = !takes(i) ? integer_value(rank, i, seed, range)
                             : work.kind == CollectiveKind::all_gather ? initial(owner(i), i)
                                                                       : sum(i);
      ASSERT_EQ(values[i], expected) << "value " << i;
    }
  }

  const Mesh& mesh;
  const std::int64_t rank;
  const std::uint64_t seed;
  const std::int64_t range;  // of the values
  RankGrid grid;             // of the group's axes
  std::int64_t index = 0;    // of the rank in it
  ElementType type = ElementType::float32;
  TypedValues values{ElementType::float32, 0};
  CollectiveWork work;
  std::size_t block_size = 0;
};

/// A collective that rounds after each addition has exact sums of 16 bits only of a small `range`.
inline void expect_laws_of_random_works(Collective& collective, std::uint64_t seed, int works,
                                        std::int64_t range = 256) {
  for (int i = 0; i < works; ++i) {
    LawWork law(collective, seed + static_cast<std::uint64_t>(i), range);
    const auto ok = collective.run(law.work);
    ASSERT_TRUE(ok) << "seed " << law.seed << ": " << ok.error().message;
    law.check();
    if (testing::Test::HasFailure()) return;
  }
}

/// Runs a random broadcast, all-to-all, shift or exchange with two neighbours in a random group,
/// and checks every value.
inline void expect_message_arrives(Collective& collective, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const Mesh& mesh = collective.mesh();
  const CollectiveGroup group = random_group(mesh, random);
  const auto ranks = mesh.ranks_of(group, collective.rank());
  const std::size_t members = ranks.size();
  const auto own =
      static_cast<std::size_t>(std::ranges::find(ranks, collective.rank()) - ranks.begin());
  const std::size_t sizes[] = {below(3), 1 + below(64), 1 + below(5000), below(300'000)};
  const std::size_t size = sizes[below(4)];
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << mesh.name_of(group) << ", " << size
                                  << " values, rank " << collective.rank());
  const ElementType type = random_type(random);
  const auto values_of = [&](std::size_t member, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = integer_value(ranks[member], i, seed);
    return values;
  };
  TypedValues values(type, values_of(own, size));
  const std::size_t kind = below(4), root = below(members), shift = 1 + below(members);
  if (kind == 0) {
    const auto ok = collective.run({.kind = CollectiveKind::broadcast,
                                    .group = group,
                                    .values = values.span(),
                                    .index = seed,
                                    .peer = root});
    ASSERT_TRUE(ok) << ok.error().message;
    ASSERT_EQ(values.floats(), values_of(root, size));
    return;
  }
  if (kind == 1 && shift < members) {
    // Sends to one neighbour and receives from the other, at once, since each waits for the other.
    TypedValues received(type, size);
    std::jthread sender([&] {
      const auto ok = collective.run({.kind = CollectiveKind::send,
                                      .group = group,
                                      .values = values.span(),
                                      .index = seed,
                                      .peer = (own + shift) % members});
      EXPECT_TRUE(ok) << ok.error().message;
    });
    const std::size_t from = (own + members - shift) % members;
    const auto ok = collective.run({.kind = CollectiveKind::receive,
                                    .group = group,
                                    .values = received.span(),
                                    .index = seed,
                                    .peer = from});
    sender.join();
    ASSERT_TRUE(ok) << ok.error().message;
    ASSERT_EQ(received.floats(), values_of(from, size));
    return;
  }
  if (kind == 2) {
    TypedValues received(type, size);
    const std::size_t distance = shift % members;
    const auto ok = collective.run({.kind = CollectiveKind::shift,
                                    .group = group,
                                    .values = values.span(),
                                    .index = seed,
                                    .peer = distance,
                                    .received = received.span()});
    ASSERT_TRUE(ok) << ok.error().message;
    ASSERT_EQ(received.floats(), values_of((own + members - distance) % members, size));
    ASSERT_EQ(values.floats(), values_of(own, size));
    return;
  }
  // All ranks know all counts; every third is 0.
  std::vector<std::vector<std::size_t>> counts(members, std::vector<std::size_t>(members));
  for (auto& from : counts)
    for (std::size_t& count : from) count = below(3) == 0 ? 0 : below(1 + size / 8);
  std::vector<std::size_t> received_counts;
  std::size_t sent = 0, received_values = 0;
  for (std::size_t m = 0; m < members; ++m) {
    received_counts.push_back(counts[m][own]);
    sent += counts[own][m];
    received_values += counts[m][own];
  }
  values = TypedValues(type, values_of(own, sent));
  TypedValues received(type, received_values);
  // In one or in several parts, of which the last has whatever is left.
  const std::size_t cut = below(3) == 0 ? 0 : 1 + below(1 + size / 16);
  std::vector<ValueRange> parts{{0, 0}};
  if (cut > 0) parts = {{0, cut}, {cut, 3 * cut}, {3 * cut, ~std::size_t{0}}};
  for (const ValueRange& part : parts) {
    const auto ok = collective.run({.kind = CollectiveKind::all_to_all,
                                    .group = group,
                                    .values = values.span(),
                                    .begin = part.begin,
                                    .end = part.end,
                                    .index = seed,
                                    .received = received.span(),
                                    .sent_counts = counts[own],
                                    .received_counts = received_counts});
    ASSERT_TRUE(ok) << ok.error().message;
  }
  std::vector<float> expected;
  for (std::size_t m = 0; m < members; ++m) {
    std::size_t begin = 0, end = 0;
    for (std::size_t to = 0; to <= own; ++to) {
      begin = end;
      end += counts[m][to];
    }
    const auto all = values_of(m, end);
    expected.insert(expected.end(), all.begin() + static_cast<std::ptrdiff_t>(begin), all.end());
  }
  ASSERT_EQ(received.floats(), expected);
}

inline void expect_messages_arrive(Collective& collective, std::uint64_t seed, int messages) {
  for (int i = 0; i < messages && !testing::Test::HasFailure(); ++i)
    expect_message_arrives(collective, seed + static_cast<std::uint64_t>(i));
}

/// Expects what cannot be sent to be refused before any rank is waited for.
inline void expect_wrong_messages_are_refused(Collective& collective) {
  const auto members = static_cast<std::size_t>(collective.world_size());
  const auto own = static_cast<std::size_t>(collective.rank());
  std::vector<float> values(4), received(4);
  const auto refused = [&](CollectiveWork work) {
    work.values = values;
    const auto ok = collective.run(work);
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument) << ok.error().message;
  };
  refused({.kind = CollectiveKind::send, .values = {}, .peer = own});
  refused({.kind = CollectiveKind::receive, .values = {}, .peer = members});
  refused({.kind = CollectiveKind::broadcast, .values = {}, .peer = members});
  refused({.kind = CollectiveKind::push, .values = {}});
  refused({.kind = CollectiveKind::shift, .values = {}, .peer = members, .received = received});
  refused({.kind = CollectiveKind::shift,
           .values = {},
           .peer = 0,
           .received = std::span(received).first(3)});
  std::vector<Float16> other_type(4);
  refused({.kind = CollectiveKind::shift, .values = {}, .peer = 0, .received = other_type});
  std::vector<std::size_t> short_counts(members), counts(members);
  counts[0] = 4;
  const auto all_to_all = [&](std::span<const std::size_t> sent, std::span<const std::size_t> got) {
    refused({.kind = CollectiveKind::all_to_all,
             .values = {},
             .received = received,
             .sent_counts = sent,
             .received_counts = got});
  };
  all_to_all({}, counts);
  all_to_all(counts, short_counts);
  std::vector<std::size_t> huge(members, ~std::size_t{0} / 2 + 1);
  all_to_all(huge, counts);
  std::vector<std::size_t> other(members);
  other[own] = 3;
  other[(own + 1) % members] = 1;
  counts.assign(members, 0);
  counts[own] = 4;
  all_to_all(other, counts);  // keeps 3 and gets 4 of its own
  std::vector<BFloat16> halves(4);
  refused({.kind = CollectiveKind::all_to_all,
           .values = {},
           .received = halves,
           .sent_counts = counts,
           .received_counts = counts});
}

/// One collective of a chain over the same values.
struct ChainLink {
  CollectiveKind kind;
  CollectiveGroup group;
};
inline const std::vector<ChainLink> kFlatChain{
    {CollectiveKind::all_reduce, CollectiveGroup::world}};
inline const std::vector<ChainLink> kScatteredChain{
    {CollectiveKind::reduce_scatter, CollectiveGroup::world},
    {CollectiveKind::all_gather, CollectiveGroup::world}};
inline const std::vector<ChainLink> kHierarchicalChain{
    {CollectiveKind::reduce_scatter, CollectiveGroup::inside},
    {CollectiveKind::all_reduce, CollectiveGroup::between},
    {CollectiveKind::all_gather, CollectiveGroup::inside}};
inline const std::vector<ChainLink> kLongestChain{
    {CollectiveKind::reduce_scatter, CollectiveGroup::inside},
    {CollectiveKind::reduce_scatter, CollectiveGroup::between},
    {CollectiveKind::all_gather, CollectiveGroup::between},
    {CollectiveKind::all_gather, CollectiveGroup::inside}};

inline Result<void> run_chain(Collective& collective, const std::vector<ChainLink>& chain,
                              std::span<float> values, std::uint64_t first_index) {
  for (const ChainLink& link : chain) {
    const auto ok = collective.run(
        {.kind = link.kind, .group = link.group, .values = values, .index = first_index++});
    if (!ok) return ok;
  }
  return {};
}

/// Expects every chain to give the sum over all ranks. With two ranks the results agree bit for
/// bit, since a sum of two has a single order. Otherwise each of n − 1 additions, in any order,
/// rounds by at most 2⁻²⁴ of the sum of magnitudes, and two results differ by at most twice that.
inline void expect_chains_are_sums(Collective& collective, std::uint64_t seed) {
  const int ranks = collective.world_size();
  std::uint64_t index = 0;
  for (const std::size_t size : {1u, 3u, 100u, 5000u, 200'000u}) {
    std::vector<std::vector<float>> of_rank;
    std::vector<double> magnitudes(size);
    for (int rank = 0; rank < ranks; ++rank) {
      std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(rank));
      std::normal_distribution<float> normal;
      auto& values = of_rank.emplace_back(size);
      for (std::size_t i = 0; i < size; ++i) {
        values[i] = normal(random);
        magnitudes[i] += std::abs(static_cast<double>(values[i]));
      }
    }
    auto& own = of_rank[static_cast<std::size_t>(collective.rank())];
    auto flat = own;
    ASSERT_TRUE(run_chain(collective, kFlatChain, flat, index++));
    for (const auto* chain : {&kScatteredChain, &kHierarchicalChain, &kLongestChain}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << size << " values, chain of "
                                      << chain->size() << ", rank " << collective.rank());
      auto chained = own;
      ASSERT_TRUE(run_chain(collective, *chain, chained, index));
      index += chain->size();
      for (std::size_t i = 0; i < size; ++i) {
        const double tolerance = ranks == 2 ? 0 : 2 * (ranks - 1) * std::ldexp(magnitudes[i], -24);
        ASSERT_LE(std::abs(static_cast<double>(chained[i]) - flat[i]), tolerance) << "value " << i;
      }
    }
  }
}

}  // namespace hocket
