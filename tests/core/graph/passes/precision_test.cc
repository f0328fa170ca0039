#include "core/graph/passes/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/derivative.h"
#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr const char* kHeadModel = R"(
%x = input "x" : float32[4, 8]
%targets = input "targets" : int32[4]
%g = parameter "norm.gain" : float32[8] @norm
%n, %r = rms_norm %x, %g @norm
%w = parameter "head.weight" : float32[16, 8] @head
%logits = matmul %n, %w {transpose_b=true} @head
%losses, %sums = cross_entropy %logits, %targets @loss
%total = sum %losses {dimensions=[0]} @loss
%loss = scale %total {factor=0.25} @loss
output "loss" = %loss
output "logits" = %logits
)";

TEST(Precision, ParametersAreConvertedAndLossesStayWide) {
  EXPECT_EQ(text_of(lower_precision(graph_of(kHeadModel), {.computes = NumberType::bfloat16})),
            numbered(R"(
%x = input "x" : float32[4, 8]
%targets = input "targets" : int32[4]
%g = parameter "norm.gain" : float32[8] @norm
%x16 = convert %x {type=bfloat16} @norm
%g16 = convert %g {type=bfloat16} @norm
%n, %r = rms_norm %x16, %g16 @norm
%w = parameter "head.weight" : float32[16, 8] @head
%w16 = convert %w {type=bfloat16} @head
%logits = matmul %n, %w16 {transpose_b=true} @head
%losses, %sums = cross_entropy %logits, %targets @loss
%total = sum %losses {dimensions=[0]} @loss
%loss = scale %total {factor=0.25} @loss
output "loss" = %loss
output "logits" = %logits
)"));
}

TEST(Precision, RegionsAndKindsStayWide) {
  PrecisionOptions options{.computes = NumberType::bfloat16, .wide_regions = {"n*"}};
  const std::string norm = text_of(lower_precision(graph_of(kHeadModel), options));
  EXPECT_THAT(norm, HasSubstr("rms_norm %0, %2 : float32[4, 8], float32[4, 1] @norm"));
  EXPECT_THAT(norm, HasSubstr("convert %3 {type=bfloat16} : bfloat16[4, 8] @norm"));
  options = {.computes = NumberType::bfloat16, .wide_kinds = {OperationKind::matmul}};
  const std::string product = text_of(lower_precision(graph_of(kHeadModel), options));
  EXPECT_THAT(product, HasSubstr(" : float32[4, 16] @head"));
  EXPECT_THAT(product, HasSubstr("type=float32} : float32[4, 8] @norm"));
}

TEST(Precision, OthersFollowTheirOperands) {
  const std::string text = text_of(lower_precision(graph_of(R"(
%x = input "x" : float32[4]
%w = parameter "w" : float32[4]
%a = multiply %x, %w
%b = exponential %a
%c = add %b, %a
%d = add %a, %w
output "c" = %c
output "d" = %d
)"),
                                                   {.computes = NumberType::float16}));
  EXPECT_EQ(text, numbered(R"(
%x = input "x" : float32[4]
%w = parameter "w" : float32[4]
%x16 = convert %x {type=float16}
%w16 = convert %w {type=float16}
%a = multiply %x16, %w16
%a32 = convert %a {type=float32}
%b = exponential %a32
%c = add %b, %a32
%d = add %a, %w16
%scale = parameter "loss_scale" : float32[]
output "c" = %c
output "d" = %d
)"));
}

TEST(Precision, GradientsAreOfTheTypeOfTheirParameters) {
  const auto narrow = lower_precision(graph_of(kHeadModel), {.computes = NumberType::float16});
  ASSERT_TRUE(narrow) << narrow.error().message;
  const auto derived = differentiate(*narrow, {.scale = std::string(kLossScale)});
  ASSERT_TRUE(derived) << derived.error().message;
  for (const char* const name : {"norm.gain", "head.weight"}) {
    const auto gradient = derived->output(gradient_name(name));
    ASSERT_TRUE(gradient);
    EXPECT_EQ(derived->type(*gradient), derived->type(*derived->leaf(name)));
  }
  EXPECT_FALSE(derived->output(gradient_name(kLossScale)));
}

TEST(Precision, WhatCannotBeLoweredIsRefused) {
  const Graph model = graph_of(kHeadModel);
  EXPECT_EQ(lower_precision(model, {}).value(), model);
  EXPECT_THAT(lower_precision(model, {.computes = NumberType::int32}).error().message,
              HasSubstr("expected float32, bfloat16 or float16, found int32"));
  EXPECT_THAT(lower_precision(model, {.computes = NumberType::bfloat16, .wide_regions = {"a b"}})
                  .error()
                  .message,
              HasSubstr("region: "));
  const auto derived = differentiate(model);
  ASSERT_TRUE(derived);
  EXPECT_THAT(lower_precision(*derived, {.computes = NumberType::bfloat16}).error().message,
              HasSubstr("cross_entropy_gradient in loss/backward belongs to a derivative"));
}

}  // namespace
}  // namespace hocket
