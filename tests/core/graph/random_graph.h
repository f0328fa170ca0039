#pragma once

// Random graphs of operations on small values, for laws that hold for every graph.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/graph/maths.h"

namespace hocket {

/// Adds about `operations` operations to `builder`, on inputs and parameters of [4, 6], and returns
/// values of that shape. Kinds of all sorts occur, and their results are used again.
inline std::vector<Value> add_random_operations(GraphBuilder& builder, int operations,
                                                std::mt19937_64& random) {
  const Shape shape{4, 6};
  std::vector<Value> values{builder.input("x", {NumberType::float32, shape}),
                            builder.parameter("w", shape), builder.parameter("v", shape)};
  const Value row = builder.parameter("row", {6}), column = builder.parameter("column", {4, 1});
  const Value square = builder.parameter("square", {6, 6});
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < operations; ++i) {
    const auto region = builder.region("part" + std::to_string(random() % 3));
    const Value x = any(), y = any();
    const std::vector<Value> candidates = [&]() -> std::vector<Value> {
      switch (random() % 20) {
        case 0:
          return {x + y};
        case 1:
          return {x - row};
        case 2:
          return {x * column};
        case 3:
          return {x / (exponential(y * 0.1) + exponential(row * 0.1))};
        case 4:
          return {tanh(x)};
        case 5:
          return {gelu(x)};
        case 6:
          return {silu(x)};
        case 7:
          return {sigmoid(x) * y};
        case 8:
          return {swiglu(row, x)};
        case 9:
          return {matmul(x, square)};
        case 10:
          return {matmul(square, x, {.a = true, .b = true}), any()};
        case 11:
          return {transpose(reshape(x, {2, 2, 6}), {1, 0, 2})};
        case 12:
          return {concatenate({slice(x, 0, 1, 4), slice(y, 0, 0, 1)}, 0)};
        case 13:
          return {softmax(x)};
        case 14:
          return {layer_norm(x, row, row)};
        case 15:
          return {rms_norm(x, row)};
        case 16:
          return {sum(x, {1}, true) * 0.1 + y};
        case 17:
          return {rotary(x)};
        case 18:
          return {square_root(exponential(x * 0.2))};
        default:
          return {maximum(x, {0}) + y};
      }
    }();
    for (Value each : candidates) {
      if (each.type().count() != 24) continue;
      if (each.shape().size() == 2 && each.shape()[0] == 6) each = transpose(each, {1, 0});
      // Numbers stay small.
      values.push_back(tanh(reshape(each, shape)));
    }
  }
  return values;
}

/// Returns a graph of such operations with the output "loss", a single number.
inline Graph random_graph(int operations, std::mt19937_64& random) {
  GraphBuilder builder;
  const auto values = add_random_operations(builder, operations, random);
  Value total = mean(values.back());
  for (std::size_t i = 3; i < values.size(); i += 2) total = total + mean(values[i] * values[i]);
  builder.output("loss", total);
  return builder.build().value();
}

}  // namespace hocket
