#pragma once

// The passes of graphs in their order: pure functions from graph to graph. Any thread.

#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct GraphPass {
  std::string_view name;   ///< a word, for command lines
  std::string_view about;  ///< one line for people
  Result<Graph> (*run)(const Graph& graph);
};

std::span<const GraphPass> graph_passes();

/// Runs all passes up to the one of this name; "" runs none. invalid_argument for a name that is
/// none, with those that there are; an error of a pass has its name in front.
Result<Graph> run_passes(const Graph& graph, std::string_view last);

}  // namespace hocket
