#include "kernels/host/host_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/derivative.h"
#include "core/graph/passes.h"
#include "tests/core/graph/random_graph.h"
#include "tests/kernels/host/carried_out.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::Contains;

TEST(HostKernels, HaveFloat32ForEachKind) {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (kind == Kind::input || kind == Kind::parameter) continue;  // nothing is computed
    if (is_of_ranks(kind)) continue;
    EXPECT_THAT(host_kernels().types(kind, KernelDevice::host), Contains(KernelTypes()))
        << to_string(kind);
  }
}

TEST(HostKernels, SayWhichTypesTheyLack) {
  const ValueType narrow{NumberType::bfloat16, {4, 8}};
  const auto error =
      host_kernels().find({Kind::softmax, {}, {narrow}, {narrow}}, KernelDevice::host);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message,
            "softmax of bfloat16[4, 8] has no kernel on the host, where there are those for "
            "float32; convert its operands");
  EXPECT_FALSE(host_kernels().find({Kind::softmax, {}, {narrow}, {narrow}}, KernelDevice::cuda));
}

TEST(HostKernels, RefuseOperationsOfTheProgramOfOneRank) {
  const ValueType table{NumberType::float32, {4, 8}}, indices{NumberType::int32, {2}};
  const auto attributes = complete(Kind::embedding, {{"begin", std::int64_t{4}}}).value();
  const auto error = host_kernels().find(
      {Kind::embedding, attributes, {table, indices}, {{NumberType::float32, {2, 8}}}},
      KernelDevice::host);
  ASSERT_FALSE(error);
  EXPECT_THAT(error.error().message, testing::HasSubstr("of the program of one of several ranks"));
}

/// Rounding grows along a graph: outputs differ by a share of their largest number.
void expect_carried_out(const Graph& graph, Random& random) {
  const Leaves leaves = random_leaves(graph, random);
  const auto expected = interpret(graph, leaves);
  ASSERT_TRUE(expected) << expected.error().message;
  const auto found = carried_out(graph, leaves, [](const Kernel& kernel, const KernelCall& call) {
    return kernel.run(call).has_value();
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    double most = 1;
    for (const double each : (*expected)[i].values) most = std::max(most, std::abs(each));
    expect_near(found[i], (*expected)[i], 2e-4 * most);
  }
}

TEST(HostKernels, CarryOutGraphsAsTheInterpreterDoes) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    expect_carried_out(random_graph(25, random), random);
  }
}

TEST(HostKernels, CarryOutDerivativesAndPasses) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = random_graph(12, random);
    const auto derived = differentiate(graph);
    ASSERT_TRUE(derived) << derived.error().message;
    expect_carried_out(*derived, random);
    // These differentiate, too.
    const auto passed = run_passes(graph, graph_passes().back().name);
    ASSERT_TRUE(passed) << passed.error().message;
    expect_carried_out(*passed, random);
  }
}

}  // namespace
}  // namespace hocket
