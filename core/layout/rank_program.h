#pragma once

// The program of one rank: the graph of what it computes on its parts of the values, and of the
// communications between. Pure; any thread.

#include <cstdint>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/layout/layout_plan.h"

namespace hocket {

/// Returns the program of a rank of the plan's mesh. Inputs, parameters and outputs keep their
/// names and have the shapes of the rank's parts (local_shape()). Programs of all ranks have the
/// same operations in the same order, so their communications meet; shapes and attributes may
/// differ. Requires a plan of this graph.
Result<Graph> program_of_rank(const Graph& graph, const LayoutPlan& plan, std::int64_t rank);

}  // namespace hocket
