#pragma once

// A graph under a file of signals, for verbs. One thread.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/layout/layout_plan.h"

namespace hocket {

/// The pass after which values are laid out: what it adds is divided like the rest.
inline constexpr const char* kLastBeforeLayout = "optimiser";

struct LaidOutGraph {
  Graph graph;
  LayoutPlan plan;

  /// invalid_argument for a rank that there is not.
  Result<Graph> program(std::int64_t rank) const;
};

/// Reads the signals and plans the layouts. Errors name the file and the line.
Result<LaidOutGraph> lay_out(Graph graph, const std::string& signals_file);

}  // namespace hocket
