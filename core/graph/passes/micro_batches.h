#pragma once

// Makes a step of several micro-batches from the graph of one: their gradients are added up. Pure;
// any thread.

#include <cstdint>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct MicroBatchOptions {
  std::int64_t count = 1;
};

inline constexpr std::int64_t kMostMicroBatches = 4096;

/// Returns the graph for batches that are `count` times as large. Inputs have `count` times the
/// size in their outermost dimension, of which each micro-batch takes a part in turn; scalars and
/// keys of dropout stay as they are. What depends on inputs is carried out for each micro-batch, in
/// the region of the original with "/micro_batch0" behind it; each has masks of dropout of its own.
/// Outputs that are single numbers, and gradients, are the means over the micro-batches; others
/// that depend on inputs are those of the micro-batches, one after the other in the outermost
/// dimension. invalid_argument for a count out of range, and for single whole numbers that depend
/// on inputs.
Result<Graph> split_into_micro_batches(const Graph& graph, const MicroBatchOptions& options);

}  // namespace hocket
