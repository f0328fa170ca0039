#include "core/layout/rank_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "core/graph/passes.h"
#include "core/layout/rank_traffic.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/graph/same_values.h"
#include "tests/core/layout/rank_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// A random graph with a dimension that can be divided by 8 and one by 16, in the same way.
Graph training_step(std::mt19937_64& random) {
  PassOptions options;
  options.optimiser.method = random() % 2 ? OptimiserMethod::adamw : OptimiserMethod::sgd;
  if (random() % 3 == 0) options.optimiser.clip_norm = 1;
  return run_passes(random_graph(12, random), "optimiser", options).value();
}

/// Programs of 8 ranks compute what one rank does, whatever is divided.
TEST(RankProgram, ComputesTheSameBits) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(100); ++round) {
    const Graph graph = training_step(random);
    const Mesh mesh = random_mesh(8, random);
    LayoutRequest request;
    for (const Operation& operation : graph.operations()) {
      if (operation.name.empty()) continue;
      const Shape& shape = graph.type(operation.first_result).shape;
      request.leaves[operation.name] = random_layout(shape, mesh, random);
      if (operation.kind == OperationKind::parameter && random() % 2)
        request.uses[operation.name].gathered = {random() % mesh.axes().size()};
    }
    const auto plan = plan_layouts(graph, mesh, request);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(difference_on_ranks(graph, *plan, random_residues(graph, random())), "")
        << "round " << round << "\n"
        << to_text(graph);
  }
}

TEST(RankTraffic, CountsWhatARankSends) {
  const Graph program = parse_graph(R"(
%x = input "x" : float32[8, 4]
%a = all_reduce %x {group=data+tensor, ranks=4} @one
%b = all_gather %a {group=data+tensor, ranks=4} @one/backward
%c = reduce_scatter %b {group=data+tensor, ranks=4} @one/backward
%d = all_reduce %c {group=data+tensor, ranks=4} @one
output "y" = %d
)")
                            .value();
  const auto traffic = traffic_of(program);
  ASSERT_EQ(traffic.size(), 3);
  EXPECT_EQ(traffic[0].count, 2);
  EXPECT_EQ(traffic[0].sent_bytes, 2 * 2 * 96);
  EXPECT_EQ(traffic[1].kind, OperationKind::all_gather);
  EXPECT_EQ(traffic[1].sent_bytes, 3 * 128);
  EXPECT_EQ(traffic[2].sent_bytes, 3 * 128);
}

TEST(PlanLayouts, RefusesWhatDoesNotFit) {
  std::mt19937_64 random(1);
  const Graph graph = random_graph(4, random);
  LayoutRequest request;
  request.leaves["none"] = Layout(1);
  EXPECT_THAT(plan_layouts(graph, data_tensor(), request).error().message,
              testing::HasSubstr("no input or parameter \"none\""));
  request.leaves = {{"x", Layout(3)}};
  EXPECT_THAT(plan_layouts(graph, data_tensor(), request).error().message,
              testing::HasSubstr("input \"x\": a layout of another shape"));
  Layout divided(2);
  divided.divide(1, {1, 1});
  request.leaves = {{"x", divided}};
  EXPECT_THAT(plan_layouts(graph, data_tensor(), request).error().message,
              testing::HasSubstr("dimension 1 of [4, 6]"));
}

/// A sum that a function follows may be scattered as well as reduced; it is whole, as nothing else
/// is divided.
TEST(PlanLayouts, KeepsWholeWhatNothingElseDivides) {
  const Graph graph = parse_graph(R"(
%x = input "x" : float32[8, 16]
%w = parameter "w" : float32[16, 8]
%p = matmul %x, %w
%y = relu %p
output "y" = %y
)")
                          .value();
  LayoutRequest request;
  Layout inputs(2), rows(2);
  inputs.divide(1, {1, 1});
  rows.divide(1, {0, 1});
  request.leaves = {{"x", inputs}, {"w", rows}};
  const LayoutPlan plan = plan_layouts(graph, data_tensor(), request).value();
  EXPECT_TRUE(plan.layout(*graph.output("y")).is_whole());
  const auto traffic = traffic_of(program_of_rank(graph, plan, 0).value());
  ASSERT_EQ(traffic.size(), 1);
  EXPECT_EQ(traffic[0].kind, OperationKind::all_reduce);
  EXPECT_EQ(traffic[0].group, "tensor");
}

}  // namespace
}  // namespace hocket
