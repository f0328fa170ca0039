#pragma once

// Memory of a plan's arena that values have in turn: whoever writes to it must wait for those that
// used it before, also in the step before. Pure.

#include <cstddef>
#include <vector>

#include "core/graph/passes/memory_plan.h"

namespace hocket {

/// A place of the arena with the one who has it: a value, or the scratch memory of an operation.
struct ArenaBlock {
  MemoryPlace place;
  bool is_scratch = false;
  std::size_t index = 0;  ///< of the value, or of the operation
};

/// Returns the blocks of a plan by their first operation.
std::vector<ArenaBlock> arena_blocks(const MemoryPlan& plan);

/// Returns for each block those that had a part of its memory last before it, where steps follow
/// each other without end. A block that has its memory alone has none.
std::vector<std::vector<std::size_t>> blocks_before(const std::vector<ArenaBlock>& blocks);

}  // namespace hocket
