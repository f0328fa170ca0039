#pragma once

// The passes of graphs in their order: pure functions from graph to graph. Any thread.

#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/passes/micro_batches.h"
#include "core/graph/passes/needed.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/passes/precision.h"
#include "core/graph/passes/recomputation.h"

namespace hocket {

/// Settings of the passes. By default only the derivative and fusion change anything.
struct PassOptions {
  NeededOptions needed = {};
  PrecisionOptions precision = {};
  RecomputationOptions recomputation = {};
  MicroBatchOptions micro_batches = {};
  OptimiserOptions optimiser = {};
};

struct GraphPass {
  std::string_view name;   ///< a word, for command lines
  std::string_view about;  ///< one line for people
  Result<Graph> (*run)(const Graph& graph, const PassOptions& options);
};

std::span<const GraphPass> graph_passes();

/// Runs all passes up to the one of this name; "" runs none. invalid_argument for a name that is
/// none, with those that there are; an error of a pass has its name in front.
Result<Graph> run_passes(const Graph& graph, std::string_view last,
                         const PassOptions& options = {});

}  // namespace hocket
