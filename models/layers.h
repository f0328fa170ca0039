#pragma once

// Parts that several models have, as maths. Like the operations of core/graph/maths.h they add to
// the graph of their operands, in its present region. One thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"

namespace hocket {

/// Returns x · weightᵀ + bias, with parameters "NAME.weight" [outputs, inputs] and "NAME.bias".
Value dense(Value x, std::string_view name, std::int64_t outputs);
/// Returns x · weightᵀ.
Value dense_without_bias(Value x, std::string_view name, std::int64_t outputs);

/// Returns the rms_norm() of x with the parameter "norm.weight".
Value scaled_norm(Value x, double epsilon);

/// [batch, sequence, heads · width] to [batch, heads, sequence, width], and back.
Value split_heads(Value x, std::int64_t heads);
Value merge_heads(Value x);

struct GroupedAttention {
  std::int64_t heads = 1, groups = 1;
  double rotary_base = 10000;
};
/// Causal attention with rotary positions, in which each group of heads shares keys and values
/// (Ainslie et al., GQA, 2023). Its parameters are those of dense layers without bias: "query",
/// "key", "value" and "out".
Value grouped_attention(Value x, const GroupedAttention& options);

/// The inputs of a language model: int32 [batch, sequence].
struct TokenInputs {
  Value tokens, targets;
};
TokenInputs token_inputs(GraphBuilder& model, std::int64_t batch, std::int64_t sequence);

/// Returns the mean loss of the targets, a scalar.
Value mean_loss(Value logits, Value targets);

/// Returns what part() returns, whose operations are in the region `name`.
template <class Part>
auto in_region(GraphBuilder& model, std::string_view name, const Part& part) {
  const auto region = model.region(name);
  return part();
}

/// "block3".
std::string block_name(std::int64_t index);

/// invalid_argument unless `whole` is a multiple of `part`: "width: 100 is no multiple of 12,
/// which is heads; …".
Result<void> check_multiple(std::string_view whole_name, std::int64_t whole,
                            std::string_view part_name, std::int64_t part);
/// The same, and invalid_argument unless the heads have an even width, as rotary() needs it.
Result<void> check_heads(std::int64_t width, std::int64_t heads, std::int64_t groups);

}  // namespace hocket
