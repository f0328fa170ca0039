#pragma once

// Random queries, keys and values that bfloat16 represents exactly, and what attention makes of
// them by the interpreter of graphs.

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/graph/interpreter/interpreter.h"
#include "core/random/split_mix.h"
#include "kernels/cuda/fused_attention.h"
#include "tests/core/graph/evaluated.h"

namespace hocket {

/// Sizes of causal or other attention.
struct HeadSizes {
  std::int64_t batch = 0, heads = 0, positions = 0, width = 0;
  bool is_causal = false;

  float scale() const { return 1 / std::sqrt(static_cast<float>(width)); }
  FusedAttentionShape shape() const {
    const HeadsLayout layout = dense_heads(batch, heads, positions, width);
    return {.inputs = layout, .outputs = layout, .is_causal = is_causal, .scale = scale()};
  }
};

struct RandomHeads {
  RandomHeads(const HeadSizes& of, std::uint64_t seed) : sizes(of) {
    const Shape heads{of.batch, of.heads, of.positions, of.width};
    std::uint64_t drawn = 0;
    for (Numbers* const each : {&queries, &keys, &values, &dy}) {
      each->type = {NumberType::float32, heads};
      for (std::int64_t i = 0; i < each->type.count(); ++i)
        each->values.push_back(rounded(random_normal(seed, drawn++), NumberType::bfloat16));
    }
    const Attributes attributes{{"causal", of.is_causal}};
    auto forward = results(OperationKind::attention, {queries, keys, values}, attributes);
    y = std::move(forward[0]);
    log_sums = std::move(forward[1]);
    gradients = results(OperationKind::attention_gradient, {queries, keys, values, y, log_sums, dy},
                        attributes);
  }

  HeadSizes sizes;
  Numbers queries, keys, values, dy, y, log_sums;
  std::vector<Numbers> gradients;  ///< by queries, keys and values
};

}  // namespace hocket
