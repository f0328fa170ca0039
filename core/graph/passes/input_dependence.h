#pragma once

// Tells values of a step from those that are the same in each. Private to core/graph. Pure.

#include <algorithm>
#include <vector>

#include "core/graph/graph.h"

namespace hocket {

/// Returns for each value whether it depends on one of the inputs for which `is_counted(operation)`
/// is true.
template <class IsCounted>
std::vector<bool> depends_on_inputs(const Graph& graph, IsCounted is_counted) {
  std::vector<bool> depends(graph.values());
  for (const Operation& operation : graph.operations()) {
    const bool found = operation.kind == OperationKind::input
                           ? is_counted(operation)
                           : std::ranges::any_of(operation.operands, [&](ValueId operand) {
                               return depends[operand.index];
                             });
    if (!found) continue;
    for (std::size_t i = 0; i < graph.results(operation); ++i)
      depends[graph.result(operation, i).index] = true;
  }
  return depends;
}

inline std::vector<bool> depends_on_inputs(const Graph& graph) {
  return depends_on_inputs(graph, [](const Operation&) { return true; });
}

}  // namespace hocket
