#pragma once

// One step of an optimiser on the summed gradients of some parameters, for servers that keep the
// optimiser's state. Pure.
//
// The result is what is subtracted from the parameters, which stay with the ranks: so a server
// needs no initial parameters, and weight decay, which AdamW decouples from the gradient, is left
// to the ranks.

#include <cstdint>
#include <span>

#include "core/base/result.h"

namespace hocket {

enum class OptimizerKind : std::uint32_t {
  sgd = 1,   ///< with momentum, undamped, as PyTorch's: m ← momentum·m + g; the step is rate·m
  adamw = 2  ///< Adam (Kingma, Ba, arXiv:1412.6980, algorithm 1, with bias correction)
};

struct OptimizerStep {
  OptimizerKind kind = OptimizerKind::sgd;
  /// Number of this update of the parameters, from 1.
  std::int64_t update = 1;
  /// The gradient is this times the sum.
  double gradient_scale = 1;
  double learning_rate = 0;
  double momentum = 0;                                ///< used by sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  ///< used by adamw

  bool operator==(const OptimizerStep&) const = default;
};

/// Number of values of state that the optimiser keeps for each parameter: 0 to 2.
int state_values(const OptimizerStep& step);

/// invalid_argument, naming the value and its range, if no optimiser has such a step.
Result<void> validate(const OptimizerStep& step);

/// Replaces sums of gradients by the step. The moments have as many values as `values`, as far as
/// state_values() counts them, and are 0 before the first update. Computed in float32, so that the
/// bits do not depend on how the parameters are divided.
void apply_optimizer_step(const OptimizerStep& step, std::span<float> values,
                          std::span<float> first_moment, std::span<float> second_moment);

}  // namespace hocket
