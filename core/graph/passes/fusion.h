#pragma once

// Joins what follows a product to the product, as its epilogue, so that numbers are stored once.
// Pure; any thread.

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

/// Returns the graph in which
///  - a product takes the bias, the activation, the factor of an activation's derivative, and the
///    value that are added to or applied to it, in this order, as far as nothing else uses what is
///    between; a value before an activation that something else uses becomes a second result;
///  - a product of a gradient takes the sum over the same rows: the gradient of the bias;
///  - a product that is only used as float32 gives that;
///  - the gradient of a norm takes the gradient that is added to it;
///  - parts that are put side by side by padding them with zeros and adding them, as the gradient
///  of
///    slices is, become one value at once.
/// Each value of the graph that stays is computed in the same way, in one go. So values of few bits
/// are not rounded in between.
Result<Graph> fuse(const Graph& graph);

}  // namespace hocket
