#pragma once

// The derivative as a function from graph to graph: reverse accumulation, operation by operation
// (Griewank & Walther, Evaluating Derivatives, chapter 3). Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct DerivativeOptions {
  /// Name of the output that is differentiated, a single floating-point number.
  std::string output = "loss";
  /// Names of the inputs and parameters by which it is differentiated; empty: all parameters.
  std::vector<std::string> by = {};
  /// Name of a single float32 number of the graph by which the output is multiplied before, and by
  /// which each gradient is divided at the end; empty: none. It is no parameter of its own.
  std::string scale = {};
};

/// Returns `graph` with an output "gradient/NAME" for each of these, of the type that NAME has: 0
/// where the output does not depend on it. The operations that are added are in the region of the
/// operation whose derivative they are, with "/backward" at its end. invalid_argument where a name
/// is none of the graph's, and where the output depends on it through an operation that has no
/// derivative; the error names operation and region.
Result<Graph> differentiate(const Graph& graph, const DerivativeOptions& options = {});

/// Returns "gradient/NAME".
std::string gradient_name(std::string_view name);

}  // namespace hocket
