#pragma once

// Parameters of one part of a model, "block3.attention", whose gradients are communicated together.
// Pure; any thread.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/protocol/workload.h"
#include "core/step/rank_grid.h"
#include "kernels/prepared_graph.h"

namespace hocket {

/// Parameters, their gradients and the operations that update them, in the same order.
struct GradientGroup {
  std::string name;
  std::vector<ValueId> parameters = {}, gradients = {};
  /// The operation that computes each parameter's value after the step from the gradient itself;
  /// the number of operations where something is done to the gradient first.
  std::vector<std::size_t> updates = {};

  std::int64_t bytes(const Graph& graph) const;
};

/// Returns whether an operation is a step of the optimiser.
bool is_update(const Operation& operation);

/// Returns the parts of a model with the bytes of their gradients, in the order of the graph: what
/// a configuration of the job depends on.
std::vector<TensorSpec> gradient_groups(const Graph& graph);

/// Returns the groups of the gradients that are outputs. invalid_argument where there are none, and
/// for gradients that are not float32.
Result<std::vector<GradientGroup>> find_gradient_groups(const Graph& graph);

/// invalid_argument, with the reason, where something is done to gradients before they reach the
/// optimiser.
Result<void> check_updates(const Graph& graph, const std::vector<GradientGroup>& groups);

/// Returns the parts of all updates that a rank carries out where each has its block of each group
/// (ZeRO stage 1, Rajbhandari et al., SC 2020, section 5.1). Requires check_updates().
std::vector<UpdatedPart> own_parts(const Graph& graph, const std::vector<GradientGroup>& groups,
                                   const RankGrid& grid, int rank);

}  // namespace hocket
