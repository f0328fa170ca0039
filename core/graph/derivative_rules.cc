#include "core/graph/derivative_rules.h"

#include <vector>

#include "core/graph/maths.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Of = DifferentiatedOperation;

/// Returns the sum of a gradient over what a value of `shape` was repeated along.
Value unbroadcast(Value gradient, const Shape& shape) {
  const Shape from = gradient.shape();
  if (from == shape || from.size() < shape.size()) return gradient;
  const std::size_t lacks = from.size() - shape.size();
  std::vector<std::int64_t> dimensions;
  bool keeps = false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool is_repeated = i >= lacks && shape[i - lacks] == 1 && from[i] != 1;
    if (i < lacks || is_repeated) dimensions.push_back(static_cast<std::int64_t>(i));
    keeps = keeps || is_repeated;
  }
  const Value total = sum(gradient, dimensions, keeps);
  return keeps && lacks > 0 ? reshape(total, shape) : total;
}

/// Gives an operand of an elementwise operation its gradient.
void give_elementwise(const Of& of, std::size_t operand, Value gradient) {
  of.give(operand, unbroadcast(gradient, of.operand(operand).shape()));
}

void multiply(const Of& of) {
  if (of.wants(0)) give_elementwise(of, 0, of.dy * of.operand(1));
  if (of.wants(1)) give_elementwise(of, 1, of.dy * of.operand(0));
}

void divide(const Of& of) {
  const Value share = of.dy / of.operand(1);
  if (of.wants(0)) give_elementwise(of, 0, share);
  if (of.wants(1)) give_elementwise(of, 1, share * of.result() * -1.0);
}

void swiglu(const Of& of) {
  const Value gate = of.operand(0), up = of.operand(1);
  if (of.wants(1)) give_elementwise(of, 1, of.dy * silu(gate));
  if (!of.wants(0)) return;
  const Value wide = gate.shape() == of.dy.shape() ? gate : broadcast(gate, of.dy.shape());
  give_elementwise(of, 0, of.builder.add(Kind::silu_gradient, {wide, of.dy * up}));
}

/// Returns the shape of `x` with size 1 in the dimensions that a reduction sums.
Shape kept_shape(const Of& of) {
  Shape shape = of.operand(0).shape();
  for (const std::int64_t each : of.operation.attributes.integers("dimensions"))
    shape[dimension_at(each, shape.size())] = 1;
  return shape;
}

Value kept(const Of& of, Value reduced) {
  return of.operation.attributes.flag("keep") ? reduced : reshape(reduced, kept_shape(of));
}

void sum_of(const Of& of) {
  of.give(0, broadcast(kept(of, of.dy), of.operand(0).shape()));
}

void maximum_of(const Of& of) {
  of.give(0, of.builder.add(Kind::maximum_gradient,
                            {of.operand(0), kept(of, of.result()), kept(of, of.dy)}));
}

void transpose_of(const Of& of) {
  const auto& order = of.operation.attributes.integers("order");
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[dimension_at(order[i], order.size())] = static_cast<std::int64_t>(i);
  of.give(0, transpose(of.dy, std::move(inverse)));
}

void slice_of(const Of& of) {
  const Attributes& attributes = of.operation.attributes;
  const std::int64_t dimension = attributes.integer("dimension"), end = attributes.integer("end");
  of.give(0, of.builder.add(Kind::pad, {of.dy},
                            {{"dimension", dimension},
                             {"before", attributes.integer("begin")},
                             {"after", of.operand(0).size(dimension) - end}}));
}

void pad_of(const Of& of) {
  const Attributes& attributes = of.operation.attributes;
  const std::int64_t dimension = attributes.integer("dimension");
  const std::int64_t begin = attributes.integer("before");
  of.give(0, slice(of.dy, dimension, begin, begin + of.operand(0).size(dimension)));
}

void concatenate_of(const Of& of) {
  const std::int64_t dimension = of.operation.attributes.integer("dimension");
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < of.operation.operands.size(); ++i) {
    const std::int64_t end = begin + of.operand(i).size(dimension);
    if (of.wants(i)) of.give(i, slice(of.dy, dimension, begin, end));
    begin = end;
  }
}

void select_of(const Of& of) {
  const Value zero = of.builder.constant(0, {of.dy.type().numbers, {}});
  if (of.wants(1)) give_elementwise(of, 1, select(of.operand(0), of.dy, zero));
  if (of.wants(2)) give_elementwise(of, 2, select(of.operand(0), zero, of.dy));
}

/// Returns a value as the rows of one matrix.
Value rows_of(Value x) {
  if (x.shape().size() == 2) return x;
  return reshape(x, {x.type().count() / x.size(-1), x.size(-1)});
}

/// With A and B the operands after their transposition, y = A B: dA = dy Bᵀ and dB = Aᵀ dy. One
/// matrix B for a whole batch has the gradient of one product of all rows, not the sum of many.
Result<void> matmul_of(const Of& of) {
  Attributes plain{{"transpose_a", of.operation.attributes.flag("transpose_a")},
                   {"transpose_b", of.operation.attributes.flag("transpose_b")}};
  if (of.operation.attributes != complete(Kind::matmul, plain)) {
    return failure(ErrorCode::invalid_argument,
                   "a product with an epilogue has no derivative; fuse after the derivative");
  }
  const bool ta = of.operation.attributes.flag("transpose_a");
  const bool tb = of.operation.attributes.flag("transpose_b");
  const Value a = of.operand(0), b = of.operand(1), dy = of.dy;
  if (of.wants(0)) {
    const Value da = ta ? matmul(b, dy, {.a = tb, .b = true}) : matmul(dy, b, {.b = !tb});
    of.give(0, unbroadcast(da, a.shape()));
  }
  if (!of.wants(1)) return {};
  const bool is_one = b.shape().size() == 2 && !ta;
  const Value rows = is_one ? rows_of(a) : a, gradient = is_one ? rows_of(dy) : dy;
  const Value db =
      tb ? matmul(gradient, rows, {.a = true, .b = ta}) : matmul(rows, gradient, {.a = !ta});
  of.give(1, unbroadcast(db, b.shape()));
  return {};
}

/// Gives operands `first`, `first` + 1, … the results of a gradient.
void give_all(const Of& of, const std::vector<Value>& gradients, std::size_t first = 0) {
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (of.wants(first + i)) of.give(first + i, gradients[i]);
}

void layer_norm_of(const Of& of) {
  give_all(of, of.builder.add_all(Kind::layer_norm_gradient, {of.operand(0), of.operand(1),
                                                              of.result(1), of.result(2), of.dy}));
}

void rms_norm_of(const Of& of) {
  give_all(of, of.builder.add_all(Kind::rms_norm_gradient,
                                  {of.operand(0), of.operand(1), of.result(1), of.dy}));
}

void attention_of(const Of& of) {
  give_all(of, of.builder.add_all(
                   Kind::attention_gradient,
                   {of.operand(0), of.operand(1), of.operand(2), of.result(0), of.result(1), of.dy},
                   of.operation.attributes));
}

void rotary_of(const Of& of) {
  Attributes attributes = of.operation.attributes;
  attributes.set("inverse", !attributes.flag("inverse"));
  of.give(0, of.builder.add(Kind::rotary, {of.dy}, attributes));
}

void combine_of(const Of& of) {
  const auto gradients = of.builder.add_all(
      Kind::combine_gradient, {of.operand(0), of.operand(1), of.operand(2), of.operand(3), of.dy});
  if (of.wants(0)) of.give(0, gradients[0]);
  if (of.wants(3)) of.give(3, gradients[1]);
}

}  // namespace

Result<void> add_derivative(const DifferentiatedOperation& of) {
  GraphBuilder& builder = of.builder;
  const Value dy = of.dy;
  switch (of.operation.kind) {
    case Kind::input:
    case Kind::parameter:
    case Kind::constant:
      return {};
    case Kind::add:
      if (of.wants(0)) give_elementwise(of, 0, dy);
      if (of.wants(1)) give_elementwise(of, 1, dy);
      return {};
    case Kind::subtract:
      if (of.wants(0)) give_elementwise(of, 0, dy);
      if (of.wants(1)) give_elementwise(of, 1, dy * -1.0);
      return {};
    case Kind::multiply:
      return multiply(of), Result<void>();
    case Kind::divide:
      return divide(of), Result<void>();
    case Kind::scale:
      return of.give(0, dy * of.operation.attributes.number("factor")), Result<void>();
    case Kind::exponential:
      return of.give(0, dy * of.result()), Result<void>();
    case Kind::logarithm:
      return of.give(0, dy / of.operand(0)), Result<void>();
    case Kind::square_root:
      return of.give(0, dy / of.result() * 0.5), Result<void>();
    case Kind::reciprocal_square_root:
      return of.give(0, dy * of.result() / of.operand(0) * -0.5), Result<void>();
    case Kind::tanh:
      return of.give(0, dy - dy * of.result() * of.result()), Result<void>();
    case Kind::sigmoid:
      return of.give(0, dy * of.result() - dy * of.result() * of.result()), Result<void>();
    case Kind::relu:
      return of.give(0, builder.add(Kind::relu_gradient, {of.operand(0), dy})), Result<void>();
    case Kind::gelu:
      return of.give(0, builder.add(Kind::gelu_gradient, {of.operand(0), dy})), Result<void>();
    case Kind::silu:
      return of.give(0, builder.add(Kind::silu_gradient, {of.operand(0), dy})), Result<void>();
    case Kind::swiglu:
      return swiglu(of), Result<void>();
    case Kind::select:
      return select_of(of), Result<void>();
    case Kind::convert:
      return of.give(0, convert(dy, of.operand(0).type().numbers)), Result<void>();
    case Kind::dropout:
      // The same numbers are dropped again.
      return of.give(0, builder.add(Kind::dropout, {dy, of.operand(1)}, of.operation.attributes)),
             Result<void>();
    case Kind::sum:
      return sum_of(of), Result<void>();
    case Kind::maximum:
      return maximum_of(of), Result<void>();
    case Kind::reshape:
      return of.give(0, reshape(dy, of.operand(0).shape())), Result<void>();
    case Kind::transpose:
      return transpose_of(of), Result<void>();
    case Kind::slice:
      return slice_of(of), Result<void>();
    case Kind::pad:
      return pad_of(of), Result<void>();
    case Kind::concatenate:
      return concatenate_of(of), Result<void>();
    case Kind::broadcast:
      return of.give(0, unbroadcast(dy, of.operand(0).shape())), Result<void>();
    case Kind::matmul:
      return matmul_of(of);
    case Kind::layer_norm:
      return layer_norm_of(of), Result<void>();
    case Kind::rms_norm:
      return rms_norm_of(of), Result<void>();
    case Kind::softmax:
      return of.give(0, builder.add(Kind::softmax_gradient, {of.result(), dy})), Result<void>();
    case Kind::attention:
      return attention_of(of), Result<void>();
    case Kind::rotary:
      return rotary_of(of), Result<void>();
    case Kind::embedding:
      return of.give(0, builder.add(Kind::embedding_gradient, {of.operand(1), dy},
                                    {{"rows", of.operand(0).size(0)}})),
             Result<void>();
    case Kind::cross_entropy:
      return of.give(0, builder.add(Kind::cross_entropy_gradient,
                                    {of.operand(0), of.operand(1), of.result(1), dy})),
             Result<void>();
    case Kind::top_k:
      return of.give(0, builder.add(Kind::top_k_gradient, {of.result(1), dy},
                                    {{"size", of.operand(0).size(-1)}})),
             Result<void>();
    case Kind::dispatch:
      return of.give(0, builder.add(Kind::dispatch_gradient, {of.operand(1), of.result(1), dy})),
             Result<void>();
    case Kind::combine:
      return combine_of(of), Result<void>();
    case Kind::is_finite:
    case Kind::relu_gradient:
    case Kind::gelu_gradient:
    case Kind::silu_gradient:
    case Kind::maximum_gradient:
    case Kind::layer_norm_gradient:
    case Kind::rms_norm_gradient:
    case Kind::softmax_gradient:
    case Kind::attention_gradient:
    case Kind::embedding_gradient:
    case Kind::cross_entropy_gradient:
    case Kind::top_k_gradient:
    case Kind::dispatch_gradient:
    case Kind::combine_gradient:
    case Kind::exponential_sum:
    case Kind::pick:
    case Kind::adamw:
    case Kind::sgd:
    case Kind::all_reduce:
    case Kind::all_gather:
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      break;
  }
  return failure(ErrorCode::invalid_argument, "it has no derivative");
}

}  // namespace hocket
