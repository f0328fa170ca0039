#include "core/graph/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "core/graph/maths.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Result<Graph> mlp(std::int64_t inputs) {
  GraphBuilder model;
  Value x = model.input("x", {NumberType::float32, {8, inputs}});
  const Value targets = model.input("targets", {NumberType::int32, {8}});
  for (const char* name : {"hidden0", "hidden1"}) {
    const auto region = model.region(name);
    x = relu(linear(x, 16));
  }
  const auto region = model.region("head");
  model.output("loss", mean(cross_entropy(linear_without_bias(x, 10), targets)));
  return model.build();
}

TEST(GraphBuilder, AModelReadsLikeMaths) {
  const auto graph = mlp(4);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(to_text(*graph), R"(%0 = input "x" : float32[8, 4]
%1 = input "targets" : int32[8]
%2 = parameter "hidden0.weight" : float32[16, 4] @hidden0
%3 = matmul %0, %2 {transpose_b=true} : float32[8, 16] @hidden0
%4 = parameter "hidden0.bias" : float32[16] @hidden0
%5 = add %3, %4 : float32[8, 16] @hidden0
%6 = relu %5 : float32[8, 16] @hidden0
%7 = parameter "hidden1.weight" : float32[16, 16] @hidden1
%8 = matmul %6, %7 {transpose_b=true} : float32[8, 16] @hidden1
%9 = parameter "hidden1.bias" : float32[16] @hidden1
%10 = add %8, %9 : float32[8, 16] @hidden1
%11 = relu %10 : float32[8, 16] @hidden1
%12 = parameter "head.weight" : float32[10, 16] @head
%13 = matmul %11, %12 {transpose_b=true} : float32[8, 10] @head
%14, %15 = cross_entropy %13, %1 : float32[8], float32[8] @head
%16 = sum %14 {dimensions=[0]} : float32[] @head
%17 = scale %16 {factor=0.125} : float32[] @head
output "loss" = %17
)");
}

TEST(GraphBuilder, TheFirstErrorIsKept) {
  GraphBuilder model;
  const Value x = model.input("x", {NumberType::float32, {8, 4}});
  const auto region = model.region("block0");
  const Value wrong = matmul(x, x);
  const Value more = relu(wrong) + model.parameter("w", {3});
  EXPECT_EQ(more.size(-1), 1);
  model.output("y", more);
  const auto graph = model.build();
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("matmul in block0: b: expected 4 numbers"));
}

TEST(GraphBuilder, ADimensionThatIsNotThereIsAnError) {
  GraphBuilder model;
  EXPECT_EQ(model.input("x", {NumberType::float32, {8, 4}}).size(-3), 1);
  EXPECT_THAT(model.build().error().message, HasSubstr("no dimension -3 of float32[8, 4]"));
}

TEST(GraphBuilder, RegionsAreWithinOneAnother) {
  GraphBuilder model;
  {
    const auto outer = model.region("block0");
    {
      const auto inner = model.region("attention");
      EXPECT_EQ(model.present_region(), "block0.attention");
      const auto other = model.at("elsewhere");
      EXPECT_EQ(model.present_region(), "elsewhere");
    }
    EXPECT_EQ(model.present_region(), "block0");
  }
  EXPECT_EQ(model.present_region(), "");
}

}  // namespace
}  // namespace hocket
