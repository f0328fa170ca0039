#pragma once

// The operations of graphs as functions, for models that are written down as maths. Each adds one
// operation to the graph of its operands (docs/formats/graph.md says what each computes), except
// for those below the line "composed". Errors are kept by the builder (core/graph/graph_builder.h).

#include <cstdint>
#include <vector>

#include "core/graph/graph_builder.h"

namespace hocket {

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator*(Value x, double factor);

Value exponential(Value x);
Value logarithm(Value x);
Value square_root(Value x);
Value tanh(Value x);
Value sigmoid(Value x);
Value relu(Value x);
Value gelu(Value x);
Value silu(Value x);
Value swiglu(Value gate, Value up);
/// a where `condition` is not 0, else b.
Value select(Value condition, Value a, Value b);
/// 1 if all numbers are finite, else 0: float32[].
Value is_finite(Value x);
Value convert(Value x, NumberType type);
/// `stream` tells the dropouts of a model apart; `key` is int32[2].
Value dropout(Value x, Value key, double rate, std::int64_t stream);

Value sum(Value x, std::vector<std::int64_t> dimensions, bool keep = false);
Value maximum(Value x, std::vector<std::int64_t> dimensions, bool keep = false);
Value reshape(Value x, Shape shape);
Value transpose(Value x, std::vector<std::int64_t> order);
Value slice(Value x, std::int64_t dimension, std::int64_t begin, std::int64_t end);
Value concatenate(const std::vector<Value>& parts, std::int64_t dimension);
Value broadcast(Value x, Shape shape);

struct Transposed {
  bool a = false, b = false;
};
Value matmul(Value a, Value b, Transposed transposed = {});
Value layer_norm(Value x, Value gain, Value bias, double epsilon = 1e-5);
Value rms_norm(Value x, Value gain, double epsilon = 1e-5);
Value softmax(Value x);

struct AttentionOptions {
  bool causal = false;
  double scale = 0;  ///< 0: 1/√width
};
Value attention(Value queries, Value keys, Value values, const AttentionOptions& options = {});
Value rotary(Value x, double base = 10000);

Value embedding(Value table, Value indices);
/// Returns a loss for each row of logits.
Value cross_entropy(Value logits, Value targets);

struct TopK {
  Value values, indices;
};
TopK top_k(Value x, std::int64_t count);
struct Dispatched {
  Value slots, places;
};
Dispatched dispatch(Value x, Value experts, std::int64_t expert_count, std::int64_t capacity);
Value combine(Value slots, Value experts, Value places, Value weights);

// Composed.

/// Returns the mean over all dimensions, a scalar.
Value mean(Value x);
/// Returns x · weightᵀ + bias, with parameters "weight" [outputs, inputs] and "bias" [outputs] of
/// the present region.
Value linear(Value x, std::int64_t outputs);
/// Returns x · weightᵀ.
Value linear_without_bias(Value x, std::int64_t outputs);

}  // namespace hocket
