#pragma once

// The seam to whatever moves data between ranks. Implementations: Gloo over TCP (core/host), ranks
// that are threads of one process (in memory, for tests and single-process jobs), and decorators
// that add a link's limits or faults.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/step/collective_kind.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// A collective, or a part of one, on one rank.
struct CollectiveWork {
  /// all_reduce, reduce_scatter or all_gather.
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  /// What is summed in place; or of which each rank of `grid` owns a block. A reduce-scatter leaves
  /// the sum in the blocks that this rank has in the group, and nothing in particular in those of
  /// the group's others; an all-gather fills those. In the group `world` a rank has its own block,
  /// `inside` those of its place on all hosts, `between` its own among these. An all-reduce
  /// `between` sums what this rank has `inside`.
  std::span<float> values;
  /// Of every block, the elements from `begin` to `end`; all of it when both are 0.
  std::size_t begin = 0, end = 0;
  /// The same part has the same index on every rank.
  std::uint64_t index = 0;
};

class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  virtual int ranks_per_host() const = 0;
  RankGrid grid() const { return {world_size(), ranks_per_host()}; }

  /// Blocks until done. May be called from several threads at once with distinct `index`es; the
  /// same index means the same part on every rank, and may come again once it has returned. Every
  /// rank must begin the parts in one order, since only a few can be under way at once. unavailable
  /// when a peer is gone, timed_out when it did not take part in time.
  virtual Result<void> run(const CollectiveWork& work) = 0;
  /// Sums `values` over all ranks, in place.
  Result<void> all_reduce(std::span<float> values, std::uint64_t index) {
    return run({.kind = CollectiveKind::all_reduce,
                .group = CollectiveGroup::world,
                .values = values,
                .begin = 0,
                .end = 0,
                .index = index});
  }

  /// Rank 0 tells all others something: messages of up to kMaxMessageBytes, received once each, in
  /// order. One thread at a time.
  virtual Result<void> tell(std::string_view message) = 0;

  /// The next message of rank 0, on every other rank. Blocks; unavailable when rank 0 is gone,
  /// timed_out when it is silent. One thread at a time.
  virtual Result<std::string> hear() = 0;

  /// How long a silent peer is waited for.
  virtual std::int64_t timeout_ns() const = 0;

  /// Makes every blocked and later call on this rank fail at once. Any thread.
  virtual void abort() = 0;
};

inline constexpr std::int64_t kMaxMessageBytes = 16 << 20;

}  // namespace hocket
