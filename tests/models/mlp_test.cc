#include "models/mlp.h"

#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "tests/models/sample_model.h"

namespace hocket {
namespace {

TEST(Mlp, IsWhatAGuidesFirstPageShows) {
  EXPECT_EQ(to_text(built(mlp({.layers = 1, .width = 4, .inputs = 3, .classes = 2, .batch = 5}))),
            R"(%0 = input "x" : float32[5, 3]
%1 = input "targets" : int32[5]
%2 = parameter "layer0.weight" : float32[4, 3] @layer0
%3 = matmul %0, %2 {transpose_b=true} : float32[5, 4] @layer0
%4 = parameter "layer0.bias" : float32[4] @layer0
%5 = add %3, %4 : float32[5, 4] @layer0
%6 = relu %5 : float32[5, 4] @layer0
%7 = parameter "head.weight" : float32[2, 4] @head
%8 = matmul %6, %7 {transpose_b=true} : float32[5, 2] @head
%9 = parameter "head.bias" : float32[2] @head
%10 = add %8, %9 : float32[5, 2] @head
%11, %12 = cross_entropy %10, %1 : float32[5], float32[5] @loss
%13 = sum %11 {dimensions=[0]} : float32[] @loss
%14 = scale %13 {factor=0.2} : float32[] @loss
output "loss" = %14
output "logits" = %10
)");
}

TEST(Mlp, HasTheGradientsOfItsLoss) {
  const Graph graph = built(mlp({.layers = 2, .width = 4, .inputs = 3, .classes = 3, .batch = 5}));
  expect_gradients(graph, formula_leaves(graph, 3));
}

TEST(Mlp, SaysWhichOptionDoesNotFit) {
  EXPECT_EQ(said(mlp({.classes = 1})),
            "classes: expected a whole number from 2 to 1048576, found 1");
}

TEST(Mlp, BeginsByTheWidthOfItsInputs) {
  EXPECT_EQ(mlp_initial({}, "layer0.weight", {4, 8}), normal(0.5));
  EXPECT_EQ(mlp_initial({}, "layer0.bias", {4}), Distribution{});
}

}  // namespace
}  // namespace hocket
