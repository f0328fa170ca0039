#pragma once

// The difference of two graphs as lines of their text forms, whatever their values are numbered:
// operations are matched in order, by kind, name, attributes, types and region, so that as many as
// possible are (Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1986), and
// matched ones differ if their operands are not matched to each other. Pure; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace hocket {

enum class GraphLineSide : std::uint8_t { before, after };

/// A line of one of the graphs that the other one lacks.
struct GraphLine {
  GraphLineSide side = GraphLineSide::before;
  std::string text;

  bool operator==(const GraphLine&) const = default;
};

/// Returns the lines in which two graphs differ, in their order; none for equal graphs. Where two
/// long stretches have next to nothing in common they are not searched for it.
std::vector<GraphLine> graph_diff(const Graph& before, const Graph& after);

}  // namespace hocket
