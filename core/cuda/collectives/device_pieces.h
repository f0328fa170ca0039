#pragma once

// Finds the pieces of a part of a collective and the ranks that own them, for a device. Pure.

#include <vector>

#include "core/cuda/collectives/device_collective.h"
#include "core/scheduler/executor.h"
#include "core/step/rank_grid.h"

namespace hocket {

/// Replaces `pieces` by those of `part`, in the order in which they lie in its values. Owners are
/// numbered among the members of its group. Adjacent pieces are joined where that changes no
/// result; no piece is empty.
void find_pieces(const PartWork& part, const Mesh& mesh, int rank,
                 std::vector<DevicePiece>& pieces);

}  // namespace hocket
