#include "kernels/cuda/cudnn/attention_graph.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/core/graph/evaluated.h"
#include "tests/kernels/cuda/cudnn/host_tensor_graph.h"

namespace hocket {
namespace {

namespace tensor = attention_tensor;
using Doubles = std::vector<double>;

struct GraphCase {
  std::int64_t batch, heads, positions, width;
  bool is_causal;
};
constexpr GraphCase kCases[] = {
    {1, 1, 1, 1, true}, {2, 3, 5, 4, true}, {3, 1, 4, 8, false}, {1, 4, 9, 1, false}};

/// Attention by the interpreter, and the numbers that a graph is given.
struct ReferenceAttention {
  explicit ReferenceAttention(const GraphCase& of)
      : dense(dense_heads(of.batch, of.heads, of.positions, of.width)) {
    Random random(1);
    const Shape of_rows{of.batch, of.heads, of.positions, of.width};
    for (Numbers* const each : {&queries, &keys, &values, &dy})
      *each = random_numbers(random, of_rows);
    const Attributes attributes{{"causal", of.is_causal}, {"scale", 0.3}};
    y = results(OperationKind::attention, {queries, keys, values}, attributes);
    gradients = results(OperationKind::attention_gradient, {queries, keys, values, y[0], y[1], dy},
                        attributes);
    shape = {.inputs = dense, .outputs = dense, .is_causal = of.is_causal};
  }

  void bind(HostTensorGraph& graph) {
    graph.bind(tensor::query, queries.values);
    graph.bind(tensor::key, keys.values);
    graph.bind(tensor::value, values.values);
    graph.bind(tensor::scale, std::span(&scale, 1));
    graph.bind(tensor::masked, std::span(&masked, 1));
    graph.bind(tensor::one, std::span(&one, 1));
  }

  HeadsLayout dense;
  FusedAttentionShape shape;
  Numbers queries, keys, values, dy;
  std::vector<Numbers> y, gradients;
  double scale = 0.3, masked = -std::numeric_limits<double>::infinity(), one = 1;
};

Doubles unset(const Numbers& like) {
  return Doubles(like.values.size(), 1e6);
}

TEST(AttentionGraph, ForwardIsThatOfTheInterpreter) {
  for (const GraphCase& each : kCases) {
    ReferenceAttention reference(each);
    Doubles y = unset(reference.y[0]), log_sums = unset(reference.y[1]);
    HostTensorGraph graph;
    reference.bind(graph);
    graph.bind(tensor::output, y);
    graph.bind(tensor::statistics, log_sums);
    add_attention_forward(reference.shape, graph);
    expect_near(y, reference.y[0].values, 1e-9);
    expect_near(log_sums, reference.y[1].values, 1e-9);
  }
}

TEST(AttentionGraph, BackwardIsThatOfTheInterpreter) {
  for (const GraphCase& each : kCases) {
    for (const GradientSums sums : {GradientSums::ordered, GradientSums::unordered}) {
      ReferenceAttention reference(each);
      Doubles dqueries = unset(reference.queries), dkeys = dqueries, dvalues = dqueries;
      Doubles products = unset(reference.y[1]), dquery_sums = dqueries;
      HostTensorGraph graph;
      reference.bind(graph);
      graph.bind(tensor::output, reference.y[0].values);
      graph.bind(tensor::statistics, reference.y[1].values);
      graph.bind(tensor::doutput, reference.dy.values);
      graph.bind(tensor::dquery, dqueries);
      graph.bind(tensor::dkey, dkeys);
      graph.bind(tensor::dvalue, dvalues);
      graph.bind(tensor::output_products, products);
      if (sums == GradientSums::unordered) graph.bind(tensor::dquery_sums, dquery_sums);
      add_attention_backward(reference.shape, sums, graph);
      expect_near(dqueries, reference.gradients[0].values, 1e-9);
      expect_near(dkeys, reference.gradients[1].values, 1e-9);
      expect_near(dvalues, reference.gradients[2].values, 1e-9);
    }
  }
}

}  // namespace
}  // namespace hocket
