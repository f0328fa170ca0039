#pragma once

// Laws that every Collective must satisfy, checked value by value against the definition in
// core/collective/collective.h. Each rank calls these with the same seed.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/collective/collective.h"

namespace hocket {

/// Returns the initial value i of `rank`: a small integer, so that sums are exact in any order.
inline float integer_value(std::int64_t rank, std::size_t i, std::uint64_t seed) {
  const auto mixed = (seed + static_cast<std::uint64_t>(rank) * 1'000'003 + i) * 2'654'435'761u;
  return static_cast<float>(static_cast<std::int64_t>(mixed >> 8 & 255) - 128);
}

/// A random work with the values of `collective`'s rank.
struct LawWork {
  LawWork(const Collective& collective, std::uint64_t seed)
      : grid(collective.grid()), rank(collective.rank()), seed(seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    work.kind = kCollectiveKinds[below(3)];
    work.group = kCollectiveGroups[below(3)];
    const std::size_t sizes[] = {1 + below(3), 1 + below(64), 1 + below(5000), below(150'000)};
    values.resize(sizes[below(4)]);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = integer_value(rank, i, seed);
    work.values = values;
    const auto bytes = static_cast<std::int64_t>(work.values.size_bytes());
    block_size = static_cast<std::size_t>(block_bytes(bytes, grid.ranks)) / sizeof(float);
    work.index = seed;
    if (below(2) == 0) return;
    work.begin = below(200);
    work.end = work.begin + 1 + below(3000);
  }
  LawWork(const LawWork&) = delete;

  /// Returns the rank that owns the block of value i.
  std::int64_t owner(std::size_t i) const {
    const auto block = static_cast<std::int64_t>(i / block_size);
    if (work.group == CollectiveGroup::inside)
      return grid.host_of(rank) * grid.ranks_per_host + block / grid.hosts();
    const std::int64_t place = block / grid.hosts(), host = block % grid.hosts();
    return host * grid.ranks_per_host + place;
  }
  bool is_member(std::int64_t other) const {
    if (work.group == CollectiveGroup::inside) return grid.host_of(other) == grid.host_of(rank);
    if (work.group == CollectiveGroup::between) return grid.place_of(other) == grid.place_of(rank);
    return true;
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
      if (is_member(other)) sum += integer_value(other, i, seed);
    return sum;
  }

  void check() const {
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ": " << to_string(work.kind) << " " << to_string(work.group)
                 << " of " << values.size() << " values, of each block " << work.begin << " to "
                 << work.end << ", on rank " << rank << " of " << grid.ranks << ", "
                 << grid.ranks_per_host << " a host");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool undefined = work.kind == CollectiveKind::reduce_scatter && owner(i) != rank;
      if (takes(i) && undefined) continue;
      const float expected = !takes(i) ? integer_value(rank, i, seed)
                             : work.kind == CollectiveKind::all_gather
                                 ? integer_value(owner(i), i, seed)
                                 : sum(i);
      ASSERT_EQ(values[i], expected) << "value " << i;
    }
  }

  const RankGrid grid;
  const std::int64_t rank;
  const std::uint64_t seed;
  std::vector<float> values;
  CollectiveWork work;
  std::size_t block_size = 0;
};

inline void expect_laws_of_random_works(Collective& collective, std::uint64_t seed, int works) {
  for (int i = 0; i < works; ++i) {
    LawWork law(collective, seed + static_cast<std::uint64_t>(i));
    const auto ok = collective.run(law.work);
    ASSERT_TRUE(ok) << "seed " << law.seed << ": " << ok.error().message;
    law.check();
    if (testing::Test::HasFailure()) return;
  }
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
