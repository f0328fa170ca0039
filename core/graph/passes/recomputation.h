#pragma once

// Computes values of the forward pass again where the derivative needs them, instead of keeping
// them until then (Chen et al., "Training deep nets with sublinear memory cost", 2016). Pure; any
// thread.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct RecomputationOptions {
  /// Patterns of regions (core/graph/region.h). Each region that one of them matches is a unit:
  /// what is computed in it and not used outside of it, but for the derivative, is computed again
  /// from what comes into it. None: nothing is; "block*": all, block by block.
  std::vector<std::string> regions = {};
  /// Results of these kinds are kept nevertheless, because they are dear to compute (Korthikanti et
  /// al., "Reducing activation recomputation in large transformer models", 2022, section 5).
  std::vector<OperationKind> kept_kinds = {};
};

/// Returns the graph, which has its derivative, with the recomputed operations of a unit in front
/// of the first operation of the derivative that needs one of them, in the region of the original
/// with "/recomputed" behind it. What depends on parameters and constants alone is not recomputed.
/// Results are the same, bit for bit. invalid_argument for a pattern that is none.
Result<Graph> recompute(const Graph& graph, const RecomputationOptions& options);

}  // namespace hocket
