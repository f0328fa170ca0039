#include "core/graph/passes/recomputation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/derivative.h"
#include "core/graph/interpreter/interpreter.h"
#include "core/graph/passes/memory_plan.h"
#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kBlocks = R"(
%x = input "x" : float32[4]
%w = parameter "block0.w" : float32[4] @block0
%w2 = scale %w {factor=2} @block0
%a = tanh %x @block0.one
%b = multiply %a, %w2 @block0.one
%c = gelu %b @block0.two
%d = gelu %c @block1
%total = sum %d {dimensions=[0]}
output "loss" = %total
)";

Graph derived_blocks() {
  auto graph = differentiate(graph_of(kBlocks));
  EXPECT_TRUE(graph);
  return std::move(*graph);
}

TEST(Recomputation, IsInFrontOfTheDerivativeThatNeedsIt) {
  EXPECT_EQ(text_of(recompute(derived_blocks(), {.regions = {"block*"}})), numbered(R"(
%x = input "x" : float32[4]
%w = parameter "block0.w" : float32[4] @block0
%w2 = scale %w {factor=2} @block0
%a = tanh %x @block0.one
%b = multiply %a, %w2 @block0.one
%c = gelu %b @block0.two
%d = gelu %c @block1
%total = sum %d {dimensions=[0]}
%one = constant {value=1} : float32[] @/backward
%row = reshape %one {shape=[1]} @/backward
%all = broadcast %row {shape=[4]} @/backward
%dc = gelu_gradient %c, %all @block1/backward
%a_again = tanh %x @block0.one/recomputed
%b_again = multiply %a_again, %w2 @block0.one/recomputed
%db = gelu_gradient %b_again, %dc @block0.two/backward
%dw2 = multiply %db, %a_again @block0.one/backward
%dw = scale %dw2 {factor=2} @block0/backward
output "loss" = %total
output "gradient/block0.w" = %dw
)"));
}

TEST(Recomputation, UnitsAreTheOutermostRegionsThatMatch) {
  // A value that goes from one part of the block into the other is kept.
  const std::string parts = text_of(recompute(derived_blocks(), {.regions = {"block0.*"}}));
  EXPECT_THAT(parts, HasSubstr("tanh %0 : float32[4] @block0.one/recomputed"));
  EXPECT_THAT(parts, Not(HasSubstr("multiply %3, %2 : float32[4] @block0.one/recomputed")));
  EXPECT_EQ(text_of(recompute(derived_blocks(), {.regions = {"block0.*", "block0"}})),
            text_of(recompute(derived_blocks(), {.regions = {"block0"}})));
}

TEST(Recomputation, KeptKindsAreNotComputedAgain) {
  const std::string text = text_of(
      recompute(derived_blocks(), {.regions = {"block*"}, .kept_kinds = {OperationKind::tanh}}));
  EXPECT_THAT(text, Not(HasSubstr("tanh %0 : float32[4] @block0.one/recomputed")));
  EXPECT_THAT(text, HasSubstr("multiply %3, %2 : float32[4] @block0.one/recomputed"));
}

TEST(Recomputation, AnOutputIsThereAnyway) {
  const std::string text = std::string(kBlocks) + "output \"b\" = %b\n";
  const auto graph = differentiate(graph_of(text));
  ASSERT_TRUE(graph);
  const std::string again = text_of(recompute(*graph, {.regions = {"block*"}}));
  EXPECT_THAT(again, HasSubstr("tanh %0 : float32[4] @block0.one/recomputed"));
  EXPECT_THAT(again, Not(HasSubstr("multiply %3, %2 : float32[4] @block0.one/recomputed")));
}

TEST(Recomputation, NothingIsComputedAgainWithoutRegions) {
  EXPECT_EQ(recompute(derived_blocks(), {}).value(), derived_blocks());
  EXPECT_EQ(recompute(derived_blocks(), {.regions = {"head"}}).value(), derived_blocks());
  EXPECT_THAT(recompute(derived_blocks(), {.regions = {"block0/backward"}}).error().message,
              HasSubstr("region: expected a region of the model"));
}

}  // namespace
}  // namespace hocket
