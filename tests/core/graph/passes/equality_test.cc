// Passes compute what they are given: in exact numbers, bit for bit.

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "core/graph/derivative.h"
#include "core/graph/maths.h"
#include "core/graph/passes.h"
#include "core/graph/passes/fusion.h"
#include "tests/core/graph/passes/passed.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/graph/same_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// A transformer's block, with all that passes look for: products with biases, activations and
/// residuals, norms, attention, a table and a loss.
Graph transformer(std::int64_t batch, bool drops = false) {
  GraphBuilder builder;
  const Value tokens = builder.input("tokens", {NumberType::int32, {batch, 4}});
  const Value targets = builder.input("targets", {NumberType::int32, {batch, 4}});
  Value x = [&] {
    const auto region = builder.region("embedding");
    return embedding(builder.parameter("table", {8, 8}), tokens);
  }();
  std::optional<Value> key;
  for (const char* const name : {"block0", "block1"}) {
    const auto block = builder.region(name);
    {
      const auto region = builder.region("attention");
      const Value normed = rms_norm(x, builder.parameter("gain", {8}));
      const Value heads = transpose(reshape(linear(normed, 24), {batch, 4, 6, 4}), {0, 2, 1, 3});
      const Value queries = rotary(slice(heads, 1, 0, 2)), keys = rotary(slice(heads, 1, 2, 4));
      const Value mixed = attention(queries, keys, slice(heads, 1, 4, 6), {.causal = true});
      const Value merged = reshape(transpose(mixed, {0, 2, 1, 3}), {batch, 4, 8});
      const auto out = builder.region("out");
      x = x + linear(merged, 8);
    }
    const auto region = builder.region("mlp");
    const Value normed =
        layer_norm(x, builder.parameter("gain", {8}), builder.parameter("bias", {8}));
    Value active = [&] {
      const auto up = builder.region("up");
      return gelu(linear(normed, 16));
    }();
    if (drops) {
      if (!key) key = builder.input("key", {NumberType::int32, {2}});
      active = dropout(active, *key, 0.5, 1);
    }
    const auto down = builder.region("down");
    x = linear(active, 8) + x;
  }
  const auto region = builder.region("head");
  const Value logits = linear_without_bias(x, 8);
  builder.output("loss", mean(cross_entropy(logits, targets)));
  auto graph = builder.build();
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

Graph passed(const Graph& graph, const char* last, const PassOptions& options = {}) {
  auto result = run_passes(graph, last, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Graph();
}

TEST(PassesCompute, TheSameInFewerBits) {
  for (const NumberType type : {NumberType::bfloat16, NumberType::float16}) {
    PassOptions options;
    options.precision.computes = type;
    expect_same(passed(transformer(2), "derivative"), passed(transformer(2), "derivative", options),
                1);
  }
}

TEST(PassesCompute, TheSameAgain) {
  PassOptions options;
  options.recomputation.regions = {"block*"};
  const Graph plain = passed(transformer(2, true), "derivative");
  const Graph again = passed(transformer(2, true), "recomputation", options);
  EXPECT_GT(again.operations().size(), plain.operations().size() + 20);
  expect_same(plain, again, 2);
}

TEST(PassesCompute, TheSameInMicroBatches) {
  PassOptions options;
  options.micro_batches.count = 4;
  const Graph whole = passed(transformer(8), "derivative");
  expect_same(whole, passed(transformer(2), "micro_batches", options), 3);
  options.precision.computes = NumberType::float16;
  expect_same(whole, passed(transformer(2), "micro_batches", options), 3);
}

TEST(PassesCompute, TheSameInFewerOperations) {
  const Graph plain = passed(transformer(2), "derivative");
  const Graph fused = passed(transformer(2), "fusion");
  EXPECT_LT(fused.operations().size() + 20, plain.operations().size());
  expect_same(plain, fused, 4);
}

TEST(PassesCompute, TheSameUpdatesTogether) {
  PassOptions plain, all;
  plain.optimiser = {.method = OptimiserMethod::adamw, .weight_decay = 0.125, .clip_norm = 1};
  all.optimiser = plain.optimiser;
  all.precision.computes = NumberType::bfloat16;
  all.recomputation = {.regions = {"block*.mlp"}, .kept_kinds = {OperationKind::matmul}};
  all.micro_batches.count = 2;
  expect_same(passed(transformer(4), "optimiser", plain), passed(transformer(2), "fusion", all), 5);
}

TEST(PassesCompute, TheSameForRandomGraphs) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Graph model = random_graph(5 + static_cast<int>(random() % 40), random);
    PassOptions options;
    if (random() % 2 == 0)
      options.precision.computes = random() % 2 == 0 ? NumberType::bfloat16 : NumberType::float16;
    if (random() % 2 == 0) options.recomputation.regions = {random() % 2 == 0 ? "*" : "part1"};
    if (random() % 2 == 0) options.recomputation.kept_kinds = {OperationKind::tanh};
    options.optimiser.method = random() % 2 == 0 ? OptimiserMethod::sgd : OptimiserMethod::none;
    const Graph plain = passed(model, "optimiser", {.optimiser = options.optimiser});
    expect_same(plain, passed(model, "fusion", options), seed);
  }
}

}  // namespace
}  // namespace hocket
