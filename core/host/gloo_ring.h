#pragma once

// Collectives round a ring of some of the ranks of a Gloo context: Gloo's own are of all ranks, and
// have no reduce-scatter that keeps the pieces in place. For gloo_collective.cc.

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/collective/collective.h"
#include "core/collective/collective_blocks.h"

namespace gloo {
class Context;
}

namespace hocket {

/// Memory that a ring needs while it runs, kept from one to the next.
struct RingScratch {
  std::vector<float> packed, received;
  std::vector<ValueRange> pieces, segments;
};

/// Carries out `work` among the members of `blocks`, of which there are two or more. Messages go to
/// the next member and come from the one before; each piece is summed in the order in which it
/// passes the members, which ends with its owner, so the sum is one and the same on all ranks. Of
/// parts that are under way at once in `context`, each has an index of its own. Throws what Gloo
/// throws when a peer is gone or silent for `timeout`.
void run_ring(gloo::Context& context, const CollectiveWork& work, const CollectiveBlocks& blocks,
              std::chrono::milliseconds timeout, RingScratch& scratch);

}  // namespace hocket
