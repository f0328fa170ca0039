#include "core/graph/passes/optimiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/graph/interpreter/interpreter.h"
#include "core/graph/passes/precision.h"
#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const std::string kGradients = R"(
%w = parameter "w" : float32[1, 2] @layer
%b = parameter "b" : float32[2] @layer
%dw = input "dw" : float32[1, 2]
%db = input "db" : float32[2]
output "gradient/w" = %dw
output "gradient/b" = %db
)";

Numbers floats(Shape shape, std::vector<double> values) {
  return {{NumberType::float32, std::move(shape)}, std::move(values)};
}

/// Returns an output of a graph, which has more leaves than are given: these are 0.
std::vector<double> value_of(const Graph& graph, std::string_view output, Leaves leaves) {
  for (const Operation& operation : graph.operations()) {
    if (operation.kind > OperationKind::parameter) continue;
    const ValueType& type = graph.type(operation.first_result);
    leaves.try_emplace(operation.name,
                       Numbers{type, std::vector<double>(static_cast<std::size_t>(type.count()))});
  }
  const auto values = interpret(graph, leaves);
  EXPECT_TRUE(values) << values.error().message;
  for (std::size_t i = 0; values && i < graph.outputs().size(); ++i)
    if (graph.outputs()[i].name == output) return values->at(i).values;
  ADD_FAILURE() << "no output " << output;
  return {};
}

Graph optimised(const std::string& text, const OptimiserOptions& options) {
  auto graph = add_optimiser(graph_of(text), options);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

TEST(Optimiser, AdamWHasMomentsAndDecaysMatrices) {
  EXPECT_EQ(text_of(add_optimiser(graph_of(kGradients),
                                  {.method = OptimiserMethod::adamw, .weight_decay = 0.1})),
            numbered(R"(
%rate = input "rate" : float32[] @/update
%step = input "step" : int32[] @/update
%w = parameter "w" : float32[1, 2] @layer
%b = parameter "b" : float32[2] @layer
%dw = input "dw" : float32[1, 2]
%m = parameter "first_moment/w" : float32[1, 2] @layer/update
%v = parameter "second_moment/w" : float32[1, 2] @layer/update
%w1, %m1, %v1 = adamw %w, %dw, %m, %v, %rate, %step {beta2=0.95, weight_decay=0.1} @layer/update
%db = input "db" : float32[2]
%n = parameter "first_moment/b" : float32[2] @layer/update
%u = parameter "second_moment/b" : float32[2] @layer/update
%b1, %n1, %u1 = adamw %b, %db, %n, %u, %rate, %step {beta2=0.95} @layer/update
output "updated/w" = %w1
output "updated/first_moment/w" = %m1
output "updated/second_moment/w" = %v1
output "updated/b" = %b1
output "updated/first_moment/b" = %n1
output "updated/second_moment/b" = %u1
)"));
}

TEST(Optimiser, AParameterIsUpdatedWhenItIsUsedNoMore) {
  EXPECT_EQ(text_of(add_optimiser(graph_of(R"(
%w = parameter "w" : float32[2] @layer
%dw = tanh %w @layer/backward
%dx = multiply %dw, %w @layer/backward
%y = relu %dx
output "gradient/w" = %dw
output "y" = %y
)"),
                                  {.method = OptimiserMethod::sgd})),
            numbered(R"(
%rate = input "rate" : float32[] @/update
%w = parameter "w" : float32[2] @layer
%dw = tanh %w @layer/backward
%dx = multiply %dw, %w @layer/backward
%v = parameter "velocity/w" : float32[2] @layer/update
%w1, %v1 = sgd %w, %dw, %v, %rate @layer/update
%y = relu %dx
output "y" = %y
output "updated/w" = %w1
output "updated/velocity/w" = %v1
)"));
}

TEST(Optimiser, SgdHasAVelocity) {
  const Graph graph = optimised(kGradients, {.method = OptimiserMethod::sgd, .momentum = 0.5});
  const Leaves leaves{{"w", floats({1, 2}, {1, 2})},
                      {"dw", floats({1, 2}, {4, 8})},
                      {"velocity/w", floats({1, 2}, {2, 0})},
                      {"rate", floats({}, {0.5})}};
  EXPECT_EQ(value_of(graph, "updated/velocity/w", leaves), (std::vector<double>{5, 8}));
  EXPECT_EQ(value_of(graph, "updated/w", leaves), (std::vector<double>{-1.5, -2}));
  EXPECT_FALSE(graph.leaf("step"));
}

TEST(Optimiser, GradientsAreClippedByTheNormOfAll) {
  const Graph graph = optimised(kGradients, {.method = OptimiserMethod::sgd, .clip_norm = 1});
  Leaves leaves{
      {"dw", floats({1, 2}, {0, 3})}, {"db", floats({2}, {4, 0})}, {"rate", floats({}, {1})}};
  EXPECT_EQ(value_of(graph, "updated/velocity/b", leaves), (std::vector<double>{4.0 * 0.2, 0}));
  leaves["dw"].values = {0, 0.5};
  leaves["db"].values = {0.5, 0};
  EXPECT_EQ(value_of(graph, "updated/velocity/b", leaves), (std::vector<double>{0.5, 0}));
}

TEST(Optimiser, ALossScaleSkipsStepsThatAreNotFinite) {
  const std::string scaled = kGradients + "%scale = parameter \"loss_scale\" : float32[]\n";
  const Graph graph = optimised(scaled, {.method = OptimiserMethod::sgd, .momentum = 1});
  Leaves leaves{{"w", floats({1, 2}, {1, 2})},
                {"dw", floats({1, 2}, {1, 1})},
                {"db", floats({2}, {1, 1})},
                {"velocity/w", floats({1, 2}, {3, 4})},
                {"rate", floats({}, {1})},
                {"loss_scale", floats({}, {1024})},
                {"loss_scale_steps", floats({}, {7})}};
  EXPECT_EQ(value_of(graph, "updated/velocity/w", leaves), (std::vector<double>{4, 5}));
  EXPECT_EQ(value_of(graph, "updated/loss_scale", leaves), std::vector<double>{1024});
  EXPECT_EQ(value_of(graph, "updated/loss_scale_steps", leaves), std::vector<double>{8});
  leaves["loss_scale_steps"].values = {static_cast<double>(kGoodSteps - 1)};
  EXPECT_EQ(value_of(graph, "updated/loss_scale", leaves), std::vector<double>{2048});
  EXPECT_EQ(value_of(graph, "updated/loss_scale_steps", leaves), std::vector<double>{0});
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    leaves[bad > 0 ? "dw" : "db"].values[0] = bad;
    EXPECT_EQ(value_of(graph, "updated/w", leaves), (std::vector<double>{1, 2}));
    EXPECT_EQ(value_of(graph, "updated/velocity/w", leaves), (std::vector<double>{3, 4}));
    EXPECT_EQ(value_of(graph, "updated/velocity/b", leaves), (std::vector<double>{0, 0}));
    EXPECT_EQ(value_of(graph, "updated/loss_scale", leaves), std::vector<double>{512});
    EXPECT_EQ(value_of(graph, "updated/loss_scale_steps", leaves), std::vector<double>{0});
  }
}

TEST(Optimiser, SumsOfRanksAreOfValuesThatNothingElseUses) {
  EXPECT_EQ(text_of(add_optimiser(graph_of(R"(
%w = parameter "w" : float32[2] @layer
%b = parameter "b" : float32[2] @layer
%c = parameter "c" : float32[2]
%x = input "x" : float32[2]
%dw = tanh %x @layer/backward
%db = tanh %dw @layer/backward
%dc = reshape %db {shape=[2]} @/backward
output "gradient/w" = %dw
output "gradient/b" = %db
output "gradient/c" = %dc
)"),
                                  {.method = OptimiserMethod::sgd, .ranks = 4})),
            numbered(R"(
%rate = input "rate" : float32[] @/update
%w = parameter "w" : float32[2] @layer
%b = parameter "b" : float32[2] @layer
%c = parameter "c" : float32[2]
%x = input "x" : float32[2]
%dw = tanh %x @layer/backward
%own_dw = convert %dw {type=float32} @layer/backward
%db = tanh %dw @layer/backward
%own_db = convert %db {type=float32} @layer/backward
%vw = parameter "velocity/w" : float32[2] @layer/update
%w1, %vw1 = sgd %w, %own_dw, %vw, %rate {gradient_scale=0.25} @layer/update
%vb = parameter "velocity/b" : float32[2] @layer/update
%b1, %vb1 = sgd %b, %own_db, %vb, %rate {gradient_scale=0.25} @layer/update
%dc = reshape %db {shape=[2]} @/backward
%own_dc = convert %dc {type=float32} @/backward
%vc = parameter "velocity/c" : float32[2] @/update
%c1, %vc1 = sgd %c, %own_dc, %vc, %rate {gradient_scale=0.25} @/update
output "gradient/w" = %own_dw
output "gradient/b" = %own_db
output "gradient/c" = %own_dc
output "updated/w" = %w1
output "updated/velocity/w" = %vw1
output "updated/b" = %b1
output "updated/velocity/b" = %vb1
output "updated/c" = %c1
output "updated/velocity/c" = %vc1
)"));
  // A gradient that is its own is summed as it is.
  EXPECT_THAT(text_of(add_optimiser(graph_of(R"(
%w = parameter "w" : float32[2]
%x = input "x" : float32[2]
%dw = tanh %x
output "gradient/w" = %dw
)"),
                                    {.method = OptimiserMethod::sgd, .ranks = 2})),
              HasSubstr("output \"gradient/w\" = %3\n"));
  EXPECT_THAT(add_optimiser(graph_of(kGradients), {.method = OptimiserMethod::sgd, .ranks = 0})
                  .error()
                  .message,
              HasSubstr("ranks: expected 1 to"));
}

TEST(Optimiser, WhatCannotBeUpdatedIsRefused) {
  EXPECT_EQ(add_optimiser(graph_of(kGradients), {}).value(), graph_of(kGradients));
  const OptimiserOptions sgd{.method = OptimiserMethod::sgd};
  EXPECT_THAT(add_optimiser(graph_of("%w = parameter \"w\" : float32[2]\n"), sgd).error().message,
              HasSubstr("no output is the gradient of a parameter"));
  EXPECT_THAT(add_optimiser(graph_of(kGradients), {.method = OptimiserMethod::sgd, .clip_norm = -1})
                  .error()
                  .message,
              HasSubstr("clip_norm: expected 0 to"));
  EXPECT_THAT(add_optimiser(graph_of(kGradients), {.method = OptimiserMethod::adamw, .beta1 = 1.5})
                  .error()
                  .message,
              HasSubstr("beta1: expected 0 to 1"));
}

}  // namespace
}  // namespace hocket
