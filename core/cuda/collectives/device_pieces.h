#pragma once

// Which values of a part of a collective go to whom, for a device. Pure.

#include <vector>

#include "core/cuda/collectives/device_collective.h"
#include "core/scheduler/executor.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// Replaces `pieces` by those of `part`, in the order in which they lie in its values; owners are
/// counted among the members of its group. Neighbours are one piece where that makes no difference,
/// and none is empty.
void find_pieces(const PartWork& part, const RankGrid& grid, int rank,
                 std::vector<DevicePiece>& pieces);

}  // namespace hocket
