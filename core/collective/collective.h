#pragma once

// The seam to whatever moves data between ranks. Implementations: Gloo over TCP (core/host), ranks
// that are threads of one process (in memory, for tests and single-process jobs), and decorators
// that add a link's limits or faults.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/collective/value_span.h"
#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/mesh.h"

namespace hocket {

/// A collective, or a part of one, on one rank.
struct CollectiveWork {
  /// One that the implementation carries out: those of blocks, or also of messages (check_kind,
  /// check_message in core/collective/collective_blocks.h).
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  /// The values of an all-reduce, summed in place; otherwise values of which each rank of the
  /// group's axes owns a block. A reduce-scatter leaves the sum in the blocks that this rank owns
  /// in the group, and undefined values in those of the group's other ranks; an all-gather fills
  /// the latter. In the tier `whole` a rank owns its own block, in `inside` the blocks of its place
  /// on all hosts of the grid of the group's axes, in `between` its own block among these. An
  /// all-reduce over `between` sums the blocks that this rank owns in `inside`.
  ///
  /// Otherwise: a broadcast copies the values of the member `peer`, a send sends them to it, and a
  /// receive fills them with what it sends; an all-to-all sends `sent_counts[m]` of them to each
  /// member m, in order; a shift sends them to the member `peer` places behind this one, round the
  /// end, and fills `received` with as many of the member as many places before.
  ///
  /// They are of one type on all ranks. Sums are those of float32, whatever the type: between hosts
  /// rounded once at their end, by NCCL after each addition, too.
  ValueSpan values;
  /// Range of elements within every block, or of what each member sends to each in an all-to-all,
  /// from `begin` to `end`, which may lie beyond; the whole if both are 0. Not for a broadcast, a
  /// shift, a send or a receive.
  std::size_t begin = 0, end = 0;
  /// The same part has the same index on every rank of the group. Two ranks of a group count the
  /// messages between them by themselves, each way.
  std::uint64_t index = 0;
  /// Member of the group, counted in ascending order of ranks; for a shift a distance below the
  /// number of members, which is the same on all of them.
  std::size_t peer = 0;
  /// An all-to-all fills `received` with `received_counts[m]` values of each member m, in order. It
  /// does not overlap `values`, nor does that of a shift.
  ValueSpan received = {};
  std::span<const std::size_t> sent_counts = {}, received_counts = {};
};

class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;
  /// All ranks, and the axes in which they form groups; the same on every rank.
  virtual const Mesh& mesh() const = 0;

  const RankGrid& grid() const { return mesh().grid(); }
  int world_size() const { return static_cast<int>(grid().ranks); }
  int ranks_per_host() const { return static_cast<int>(grid().ranks_per_host); }

  /// Blocks until done. Several threads may call it concurrently with distinct `index`es. The same
  /// index in a group means the same part on all of its ranks; it may be used again once its call
  /// has returned. Requires that all ranks begin their parts in one order of the whole job
  /// (core/plan/job_order.h), because only a few can be in flight at once. unavailable if a peer is
  /// gone, timed_out if it did not take part in time.
  virtual Result<void> run(const CollectiveWork& work) = 0;
  /// Sums `values` over all ranks, in place.
  Result<void> all_reduce(ValueSpan values, std::uint64_t index) {
    return run({.kind = CollectiveKind::all_reduce,
                .group = CollectiveGroup::world,
                .values = values,
                .begin = 0,
                .end = 0,
                .index = index});
  }

  /// Sends a message of at most kMaxMessageBytes from rank 0 to all other ranks, which receive
  /// every message once and in order. One thread at a time.
  virtual Result<void> tell(std::string_view message) = 0;

  /// Blocks for the next message of rank 0, on every other rank. unavailable if rank 0 is gone,
  /// timed_out if it is silent. One thread at a time.
  virtual Result<std::string> hear() = 0;

  /// Time limit for a silent peer.
  virtual std::int64_t timeout_ns() const = 0;

  /// Makes every blocked and every later call on this rank fail at once. Any thread.
  virtual void abort() = 0;
};

inline constexpr std::int64_t kMaxMessageBytes = 16 << 20;

}  // namespace hocket
