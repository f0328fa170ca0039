#pragma once

// Collectives round a ring of some ranks of a Gloo context. Gloo's own collectives cover all ranks
// and lack a reduce-scatter that keeps the pieces in place. Used by gloo_collective.cc.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/collective/collective.h"
#include "core/collective/collective_blocks.h"

namespace gloo {
class Context;
}

namespace hocket {

/// Scratch memory of a ring, reused from one run to the next.
struct RingScratch {
  std::vector<std::byte> packed, received;
  std::vector<ValueRange> pieces, segments;
};

/// Returns a number of the group that no other group of a mesh has.
std::uint64_t group_number(const CollectiveGroup& group);

/// Runs `work` among the members of `blocks`, of which there must be at least two. Each member
/// sends to the next one and receives from the one before. Each piece is summed in the order in
/// which it passes the members, ending with its owner, so all ranks get the same sum. Pieces of 16
/// bits an element, which a ring would round at each member, are sent to their owners at once
/// instead, as many bytes as in the ring, and added up there in the order of ranks. Concurrent
/// parts in `context` must have distinct indices. Throws Gloo's exceptions when a peer is gone or
/// silent for `timeout`.
void run_ring(gloo::Context& context, const CollectiveWork& work, const CollectiveBlocks& blocks,
              std::chrono::milliseconds timeout, RingScratch& scratch);

/// As run_ring(), for a broadcast, an all-to-all or a shift among `ranks`, of which `own` is this
/// one: a broadcast goes round the ring in segments, the others from rank to rank.
void run_message(gloo::Context& context, const CollectiveWork& work,
                 std::span<const std::int64_t> ranks, std::size_t own,
                 std::chrono::milliseconds timeout, RingScratch& scratch);

}  // namespace hocket
