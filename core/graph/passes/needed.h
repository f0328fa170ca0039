#pragma once

// Leaves out of a graph what nobody asks for. Pure; any thread.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct NeededOptions {
  /// Names of the outputs that stay; empty: all.
  std::vector<std::string> outputs = {};
};

/// Returns the graph with these outputs, in its order, and with the operations that they need.
/// Inputs and parameters stay. invalid_argument for a name that is no output.
Result<Graph> keep_needed(const Graph& graph, const NeededOptions& options);

}  // namespace hocket
