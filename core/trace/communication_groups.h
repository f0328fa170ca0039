#pragma once

// The groups of ranks among which hocket's own collectives run and its messages go, as traces name
// them, so that what a job ran and what a simulation predicts have the same groups. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/step/collective_group.h"
#include "core/step/mesh.h"
#include "core/trace/message_ends.h"
#include "core/trace/rank_trace.h"

namespace hocket {

/// Returns the group of `rank`'s collectives in `group`; nothing if it has all ranks. It has the
/// mesh's name ("tensor", "data:inside"), but for the tiers of all axes: "host 0" has the ranks of
/// the first host, "place 1" the second rank of every host. Requires a rank of the mesh.
std::optional<TraceGroup> trace_group(const Mesh& mesh, std::int64_t rank, CollectiveGroup group);

/// Returns the ends of a message between `rank` and member `peer` of `group`, a whole set of axes.
/// Requires a rank of the mesh and a member of the group.
MessageEnds message_ends(const Mesh& mesh, std::int64_t rank, CollectiveKind kind,
                         CollectiveGroup group, std::int64_t peer);

}  // namespace hocket
