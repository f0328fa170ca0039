#pragma once

// Lowers the precision of a model: products and what surrounds them compute in bfloat16 or float16,
// while parameters, their gradients and sums stay float32 (Micikevicius et al., "Mixed precision
// training", ICLR 2018, section 3). Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

/// Sums, softmax, exponentials, logarithms and roots.
std::vector<OperationKind> usual_wide_kinds();

struct PrecisionOptions {
  /// bfloat16 or float16; float32 leaves the graph as it is.
  NumberType computes = NumberType::float32;
  /// Kinds that compute in float32 everywhere.
  std::vector<OperationKind> wide_kinds = usual_wide_kinds();
  /// Patterns of regions in which everything computes in float32.
  std::vector<std::string> wide_regions = {};
};

/// The factor by which float16's losses are multiplied before they are differentiated, so that
/// small gradients do not become 0 (section 3.2): a parameter, float32[], with which
/// differentiate() begins and by which it divides each gradient. Its optimiser doubles and halves
/// it.
inline constexpr std::string_view kLossScale = "loss_scale";

/// Returns the graph in which
///  - matmul, attention, embedding and rotary compute in `computes`;
///  - kinds and regions of the options compute in float32;
///  - others follow their operands: they compute in float32 if one is float32 that is neither a
///    parameter, an input nor a constant, and otherwise in `computes`.
/// Values are converted once to each type, and converts of the model stay. Outputs keep the type
/// that they then have. For float16 the parameter kLossScale is added. invalid_argument for a graph
/// that has a derivative or an optimiser already, which follow the precision by themselves, and for
/// types and patterns that are none.
Result<Graph> lower_precision(const Graph& graph, const PrecisionOptions& options);

}  // namespace hocket
