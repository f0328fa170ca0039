#pragma once

// Adds the optimiser to a graph with gradients: what each parameter is after the step. Pure; any
// thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

enum class OptimiserMethod : std::uint8_t {
  none,
  adamw,  ///< Loshchilov & Hutter, 2019
  sgd,    ///< with momentum
  /// Parameter servers keep the optimiser's states and answer sums of gradients with its steps,
  /// which are subtracted; weight decay is left to the ranks.
  served,
};

struct OptimiserOptions {
  OptimiserMethod method = OptimiserMethod::none;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;  ///< of AdamW
  double momentum = 0;                               ///< of SGD
  double served_rate = 0;                            ///< of weight decay beside steps from servers
  /// Applies to parameters with at least two dimensions; norms and biases have none.
  double weight_decay = 0;
  /// The norm of all gradients together is at most this (Pascanu et al., 2013, section 3.2);
  /// 0: whatever it is.
  double clip_norm = 0;
  /// Ranks over which gradients are summed between the derivative and the optimiser, by whoever
  /// runs the graph. With more than one, or with `sums`, they stay outputs, each a value that
  /// nothing but the optimiser uses, which divides the sums by the ranks.
  std::int64_t ranks = 1;
  bool sums = false;
};

/// Returns the graph in which the gradients of one rank are no outputs, but used: for each gradient
/// "gradient/NAME" there are the states of its optimiser as parameters, "first_moment/NAME" and
/// "second_moment/NAME" or "velocity/NAME", which begin with 0, and outputs "updated/NAME" of what
/// NAME and the states are after the step. New inputs are the learning rate, "rate" (float32[]),
/// and for AdamW the number of the step from 1, "step" (int32[]); steps from servers need neither.
/// A parameter is updated as soon as its gradient is there, or, where gradients are summed, all
/// those that its part of the model sums together, and as it is used no more, unless gradients are
/// clipped or scaled, for which all are needed. All of it is in the region of the parameter with
/// "/update" behind it.
///
/// With a loss scale (core/graph/passes/precision.h) a step whose gradients are not finite changes
/// nothing but the scale, which it halves; after kGoodSteps in which they were finite it is
/// doubled. Its count is the parameter "loss_scale_steps".
///
/// invalid_argument for a graph without gradients, for options out of their ranges, and for servers
/// that would have to clip or unscale gradients.
Result<Graph> add_optimiser(const Graph& graph, const OptimiserOptions& options);

inline constexpr std::int64_t kGoodSteps = 2000;

/// Returns whether a parameter is one that a pass added, which begins with 0, but for kLossScale.
bool is_optimiser_state(std::string_view parameter);

/// Returns "updated/NAME".
std::string updated_name(std::string_view name);

}  // namespace hocket
