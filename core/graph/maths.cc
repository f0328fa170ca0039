#include "core/graph/maths.h"

#include <numeric>
#include <utility>

namespace hocket {
namespace {

using Kind = OperationKind;

Value maths_unary(Kind kind, Value x, const Attributes& attributes = {}) {
  return x.builder().add(kind, {x}, attributes);
}
Value maths_binary(Kind kind, Value a, Value b, const Attributes& attributes = {}) {
  return a.builder().add(kind, {a, b}, attributes);
}

}  // namespace

Value operator+(Value a, Value b) {
  return maths_binary(Kind::add, a, b);
}
Value operator-(Value a, Value b) {
  return maths_binary(Kind::subtract, a, b);
}
Value operator*(Value a, Value b) {
  return maths_binary(Kind::multiply, a, b);
}
Value operator/(Value a, Value b) {
  return maths_binary(Kind::divide, a, b);
}
Value operator*(Value x, double factor) {
  return maths_unary(Kind::scale, x, {{"factor", factor}});
}

Value exponential(Value x) {
  return maths_unary(Kind::exponential, x);
}
Value logarithm(Value x) {
  return maths_unary(Kind::logarithm, x);
}
Value square_root(Value x) {
  return maths_unary(Kind::square_root, x);
}
Value tanh(Value x) {
  return maths_unary(Kind::tanh, x);
}
Value sigmoid(Value x) {
  return maths_unary(Kind::sigmoid, x);
}
Value relu(Value x) {
  return maths_unary(Kind::relu, x);
}
Value gelu(Value x) {
  return maths_unary(Kind::gelu, x);
}
Value silu(Value x) {
  return maths_unary(Kind::silu, x);
}
Value swiglu(Value gate, Value up) {
  return maths_binary(Kind::swiglu, gate, up);
}
Value select(Value condition, Value a, Value b) {
  return condition.builder().add(Kind::select, {condition, a, b});
}
Value is_finite(Value x) {
  return maths_unary(Kind::is_finite, x);
}
Value convert(Value x, NumberType type) {
  return maths_unary(Kind::convert, x, {{"type", type}});
}
Value dropout(Value x, Value key, double rate, std::int64_t stream) {
  return maths_binary(Kind::dropout, x, key, {{"rate", rate}, {"stream", stream}});
}

Value sum(Value x, std::vector<std::int64_t> dimensions, bool keep) {
  return maths_unary(Kind::sum, x, {{"dimensions", std::move(dimensions)}, {"keep", keep}});
}
Value maximum(Value x, std::vector<std::int64_t> dimensions, bool keep) {
  return maths_unary(Kind::maximum, x, {{"dimensions", std::move(dimensions)}, {"keep", keep}});
}
Value reshape(Value x, Shape shape) {
  return maths_unary(Kind::reshape, x, {{"shape", std::move(shape)}});
}
Value transpose(Value x, std::vector<std::int64_t> order) {
  return maths_unary(Kind::transpose, x, {{"order", std::move(order)}});
}
Value slice(Value x, std::int64_t dimension, std::int64_t begin, std::int64_t end) {
  return maths_unary(Kind::slice, x, {{"dimension", dimension}, {"begin", begin}, {"end", end}});
}
Value concatenate(const std::vector<Value>& parts, std::int64_t dimension) {
  return parts.at(0).builder().add(Kind::concatenate, parts, {{"dimension", dimension}});
}
Value broadcast(Value x, Shape shape) {
  return maths_unary(Kind::broadcast, x, {{"shape", std::move(shape)}});
}

Value matmul(Value a, Value b, Transposed transposed) {
  return maths_binary(Kind::matmul, a, b,
                      {{"transpose_a", transposed.a}, {"transpose_b", transposed.b}});
}
Value layer_norm(Value x, Value gain, Value bias, double epsilon) {
  return x.builder().add(Kind::layer_norm, {x, gain, bias}, {{"epsilon", epsilon}});
}
Value rms_norm(Value x, Value gain, double epsilon) {
  return maths_binary(Kind::rms_norm, x, gain, {{"epsilon", epsilon}});
}
Value softmax(Value x) {
  return maths_unary(Kind::softmax, x);
}

Value attention(Value queries, Value keys, Value values, const AttentionOptions& options) {
  return queries.builder().add(Kind::attention, {queries, keys, values},
                               {{"causal", options.causal}, {"scale", options.scale}});
}
Value rotary(Value x, double base) {
  return maths_unary(Kind::rotary, x, {{"base", base}});
}

Value embedding(Value table, Value indices) {
  return maths_binary(Kind::embedding, table, indices);
}
Value cross_entropy(Value logits, Value targets) {
  return maths_binary(Kind::cross_entropy, logits, targets);
}

TopK top_k(Value x, std::int64_t count) {
  const auto results = x.builder().add_all(Kind::top_k, {x}, {{"count", count}});
  return {results[0], results[1]};
}
Dispatched dispatch(Value x, Value experts, std::int64_t expert_count, std::int64_t capacity) {
  const auto results = x.builder().add_all(
      Kind::dispatch, {x, experts}, {{"expert_count", expert_count}, {"capacity", capacity}});
  return {results[0], results[1]};
}
Value combine(Value slots, Value experts, Value places, Value weights) {
  return slots.builder().add(Kind::combine, {slots, experts, places, weights});
}

Value mean(Value x) {
  std::vector<std::int64_t> all(x.shape().size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return sum(x, std::move(all)) * (1.0 / static_cast<double>(x.type().count()));
}

Value linear(Value x, std::int64_t outputs) {
  const Value y = linear_without_bias(x, outputs);
  return y + x.builder().parameter("bias", {outputs});
}

Value linear_without_bias(Value x, std::int64_t outputs) {
  const Value weight = x.builder().parameter("weight", {outputs, x.size(-1)});
  return matmul(x, weight, {.b = true});
}

}  // namespace hocket
