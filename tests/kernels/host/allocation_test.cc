// A run of a kernel allocates nothing.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "core/graph/passes.h"
#include "tests/core/graph/random_graph.h"
#include "tests/kernels/host/carried_out.h"

namespace {
std::size_t allocations = 0;
}

// Not inlined: GCC would report new and free() of one object as a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace hocket {
namespace {

/// A model with operations that random graphs lack.
Graph expert_model() {
  GraphBuilder builder;
  const Value tokens = builder.input("tokens", {NumberType::int32, {2, 8}});
  Value x = embedding(builder.parameter("table", {9, 16}), tokens);
  const auto heads = [](Value each) {
    return transpose(reshape(each, {2, 8, 2, 8}), {0, 2, 1, 3});
  };
  x = x + reshape(transpose(attention(rotary(heads(x)), heads(x), heads(x), {.causal = true}),
                            {0, 2, 1, 3}),
                  {2, 8, 16});
  const Value rows = reshape(x, {16, 16});
  const TopK chosen = top_k(matmul(rows, builder.parameter("router", {16, 4})), 2);
  const Dispatched sent = dispatch(rows, chosen.indices, 4, 6);
  const Value made = relu(matmul(sent.slots, builder.parameter("experts", {4, 16, 16})));
  const Value y = combine(made, chosen.indices, sent.places, softmax(chosen.values));
  builder.output("loss", mean(cross_entropy(linear(y, 9), reshape(tokens, {16}))));
  return builder.build().value();
}

TEST(HostKernelAllocation, IsNone) {
  Random random(1);
  std::vector<Graph> graphs{expert_model()};
  for (int i = 0; i < 30; ++i) graphs.push_back(random_graph(20, random));
  std::size_t runs = 0;
  for (const Graph& graph : graphs) {
    const Graph passed = run_passes(graph, graph_passes().back().name).value();
    Leaves leaves = random_leaves(passed, random);
    if (const auto tokens = leaves.find("tokens"); tokens != leaves.end())
      tokens->second = random_indices(random, {2, 8}, 9);
    carried_out(passed, leaves, [&](const Kernel& kernel, const KernelCall& call) {
      const std::size_t before = allocations;
      const bool succeeded = kernel.run(call).has_value();
      EXPECT_EQ(allocations, before);
      ++runs;
      return succeeded;
    });
  }
  EXPECT_GT(runs, 1000u);
}

}  // namespace
}  // namespace hocket
