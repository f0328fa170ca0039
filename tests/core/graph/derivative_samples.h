#pragma once

// Models of one operation, or a few, of each kind that has a derivative, and random numbers for
// their inputs and parameters, on which derivatives are compared. Pure; any thread.

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/interpreter/interpreter.h"
#include "core/graph/maths.h"

namespace hocket {

/// Returns whether derivatives go through operations of this kind.
inline bool has_derivative(OperationKind kind) {
  using Kind = OperationKind;
  return kind > Kind::constant && !to_string(kind).ends_with("_gradient") &&
         kind != Kind::is_finite && !is_of_ranks(kind) && kind < Kind::adamw;
}

struct LeafNumbers {
  std::int64_t most = 3;  ///< indices are below
  double deviation = 1;   ///< of floating-point numbers, which are normal
  /// Floating-point numbers are −1, 0 or 1, so that maxima are shared, and rectifiers are at 0.
  bool is_whole = false;
};

/// Returns random numbers for the inputs and parameters of a graph. The words of "key", which a
/// dropout has, are any.
inline Leaves random_leaves(const Graph& graph, const LeafNumbers& kind, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, kind.deviation);
  std::uniform_int_distribution<std::int64_t> whole(-1, 1), index(0, kind.most - 1);
  std::uniform_int_distribution<std::int32_t> word(std::numeric_limits<std::int32_t>::min());
  Leaves leaves;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty()) continue;
    Numbers numbers{graph.type(operation.first_result), {}};
    const bool is_index = !is_floating(numbers.type.numbers);
    for (std::int64_t i = 0; i < numbers.type.count(); ++i) {
      if (operation.name == "key") {
        numbers.values.push_back(word(random));
      } else if (is_index || kind.is_whole) {
        numbers.values.push_back(static_cast<double>(is_index ? index(random) : whole(random)));
      } else {
        numbers.values.push_back(normal(random));
      }
    }
    leaves.emplace(operation.name, std::move(numbers));
  }
  return leaves;
}

struct DerivativeSample {
  std::set<OperationKind> kinds;
  std::function<Value(GraphBuilder&)> model;
  std::int64_t most = 3;  ///< indices are below
};

/// Returns the graph of a sample. Its "loss" is the sum of what the model makes, times a parameter,
/// so that no gradient comes back as ones.
inline Result<Graph> graph_of(const DerivativeSample& sample) {
  GraphBuilder builder;
  const Value made = sample.model(builder);
  const Value y = made * builder.parameter("times", made.shape());
  builder.output("loss", sum(reshape(y, {y.type().count()}), {0}));
  return builder.build();
}

/// Returns samples in which each kind occurs that has_derivative().
inline std::vector<DerivativeSample> derivative_samples() {
  using Kind = OperationKind;
  const auto w = [](GraphBuilder& g, const std::string& name, const Shape& shape) {
    return g.parameter(name, shape);
  };
  const auto positive = [w](GraphBuilder& g, const std::string& name, const Shape& shape) {
    return exponential(w(g, name, shape));
  };
  const auto indices = [](GraphBuilder& g, const Shape& shape) {
    return g.input("indices", {NumberType::int32, shape});
  };
  return {
      {{Kind::add, Kind::subtract},
       [=](auto& g) {
         return w(g, "a", {3, 1}) + w(g, "b", {2, 3, 4}) - w(g, "c", {4});
       }},
      {{Kind::multiply},
       [=](auto& g) {
         return w(g, "a", {2, 3}) * w(g, "b", {3});
       }},
      {{Kind::divide, Kind::exponential},
       [=](auto& g) {
         return w(g, "a", {4}) / positive(g, "b", {3, 1});
       }},
      {{Kind::scale, Kind::logarithm},
       [=](auto& g) { return logarithm(positive(g, "a", {5}) + positive(g, "b", {1})) * -2.5; }},
      {{Kind::square_root}, [=](auto& g) { return square_root(positive(g, "a", {5})); }},
      {{Kind::reciprocal_square_root},
       [=](auto& g) { return g.add(Kind::reciprocal_square_root, {positive(g, "a", {5})}); }},
      {{Kind::tanh, Kind::sigmoid},
       [=](auto& g) { return tanh(w(g, "a", {5})) * sigmoid(w(g, "b", {5})); }},
      {{Kind::relu, Kind::gelu, Kind::silu},
       [=](auto& g) { return relu(w(g, "a", {7})) + gelu(w(g, "b", {7})) * silu(w(g, "c", {7})); }},
      {{Kind::swiglu},
       [=](auto& g) {
         return swiglu(w(g, "a", {3, 1}), w(g, "b", {2, 1, 4}));
       }},
      {{Kind::select},
       [=](auto& g) {
         const Value a = w(g, "a", {3, 4}), b = w(g, "b", {4});
         return select(relu(w(g, "condition", {3, 1})), a, b) * w(g, "c", {3, 4});
       }},
      {{Kind::convert},
       [=](auto& g) {
         return convert(convert(w(g, "a", {5}), NumberType::bfloat16), NumberType::float32) *
                w(g, "b", {5});
       }},
      {{Kind::dropout},
       [=](auto& g) {
         return dropout(w(g, "a", {6, 5}), g.input("key", {NumberType::int32, {2}}), 0.4, 3);
       }},
      {{Kind::sum},
       [=](auto& g) {
         return sum(w(g, "a", {2, 3, 4}), {0, -1}) * w(g, "b", {3});
       }},
      {{Kind::sum},
       [=](auto& g) {
         return sum(w(g, "a", {2, 3}), {1}, true) * w(g, "b", {2, 3});
       }},
      {{Kind::maximum},
       [=](auto& g) {
         return maximum(w(g, "a", {2, 3, 4}), {1}) * w(g, "b", {2, 4});
       }},
      {{Kind::maximum},
       [=](auto& g) {
         return maximum(w(g, "a", {2, 3}), {-1}, true);
       }},
      {{Kind::reshape, Kind::transpose},
       [=](auto& g) {
         return transpose(reshape(w(g, "a", {2, 6}), {2, 3, 2}), {1, -1, 0}) * w(g, "b", {3, 2, 2});
       }},
      {{Kind::slice, Kind::concatenate},
       [=](auto& g) {
         const Value a = w(g, "a", {2, 5});
         return concatenate({slice(a, 1, 1, 4), w(g, "b", {2, 2}), slice(a, -1, 0, 2)}, 1) *
                w(g, "c", {2, 7});
       }},
      {{Kind::pad},
       [=](auto& g) {
         return g.add(Kind::pad, {w(g, "a", {2, 3})},
                      {{"dimension", std::int64_t{-1}},
                       {"before", std::int64_t{2}},
                       {"after", std::int64_t{1}}}) *
                w(g, "b", {2, 6});
       }},
      {{Kind::broadcast},
       [=](auto& g) {
         return broadcast(w(g, "a", {3, 1}), {2, 3, 4}) * w(g, "b", {2, 3, 4});
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {2, 3, 4}), w(g, "b", {4, 5}));
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {2, 1, 3, 4}), w(g, "b", {5, 4}), {.b = true});
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {2, 4, 3}), w(g, "b", {4, 5}), {.a = true});
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {4, 3}), w(g, "b", {2, 4, 5}), {.a = true});
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {2, 1, 3, 4}), w(g, "b", {3, 5, 4}), {.b = true});
       }},
      {{Kind::matmul},
       [=](auto& g) {
         return matmul(w(g, "a", {2, 4, 3}), w(g, "b", {2, 5, 4}), {.a = true, .b = true});
       }},
      {{Kind::layer_norm},
       [=](auto& g) {
         return layer_norm(w(g, "x", {2, 3, 5}), w(g, "gain", {5}), w(g, "bias", {5})) *
                w(g, "b", {2, 3, 5});
       }},
      {{Kind::rms_norm},
       [=](auto& g) {
         return rms_norm(w(g, "x", {3, 5}), w(g, "gain", {5})) * w(g, "b", {3, 5});
       }},
      {{Kind::softmax},
       [=](auto& g) {
         return softmax(w(g, "x", {3, 5})) * w(g, "b", {3, 5});
       }},
      {{Kind::attention},
       [=](auto& g) {
         return attention(w(g, "q", {2, 4, 3, 6}), w(g, "k", {2, 2, 5, 6}), w(g, "v", {2, 2, 5, 4}),
                          {.causal = true, .scale = 0.3}) *
                w(g, "b", {2, 4, 3, 4});
       }},
      {{Kind::attention},
       [=](auto& g) {
         return attention(w(g, "q", {1, 2, 3, 4}), w(g, "k", {1, 2, 3, 4}),
                          w(g, "v", {1, 2, 3, 4})) *
                w(g, "b", {1, 2, 3, 4});
       }},
      {{Kind::rotary},
       [=](auto& g) {
         return rotary(w(g, "x", {2, 5, 6}), 100) * w(g, "b", {2, 5, 6});
       }},
      {{Kind::embedding},
       [=](auto& g) {
         return embedding(w(g, "table", {4, 3}), indices(g, {2, 5})) * w(g, "b", {3});
       },
       4},
      {{Kind::cross_entropy},
       [=](auto& g) {
         return cross_entropy(w(g, "logits", {2, 3, 5}), indices(g, {2, 3}));
       },
       5},
      {{Kind::top_k},
       [=](auto& g) {
         return top_k(w(g, "x", {3, 6}), 2).values * w(g, "b", {3, 2});
       }},
      {{Kind::dispatch, Kind::combine},
       [=](auto& g) {
         const Value experts = indices(g, {6, 2});
         const auto [slots, places] = dispatch(w(g, "x", {6, 3}), experts, 3, 3);
         return combine(tanh(slots), experts, places, w(g, "weights", {6, 2})) * w(g, "b", {6, 3});
       }},
  };
}

}  // namespace hocket
