#pragma once

// A perceptron of several layers as maths. Pure; any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/initial.h"
#include "models/option.h"

namespace hocket {

struct MlpOptions {
  std::int64_t layers = 2, width = 256, inputs = 784, classes = 10, batch = 32;
};
std::span<const OptionRow<MlpOptions>> mlp_options();

/// Returns the model of inputs "x" [batch, inputs] and "targets": int32 [batch], with outputs
/// "loss", the mean, and "logits" [batch, classes]. invalid_argument for options out of range.
Result<Graph> mlp(const MlpOptions& options = {});

/// Normal with deviation √(2 / inputs) (He et al., 2015), and zeros for biases.
Distribution mlp_initial(const MlpOptions& options, std::string_view name, const Shape& shape);

}  // namespace hocket
