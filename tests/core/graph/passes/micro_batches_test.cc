#include "core/graph/passes/micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStep = R"(
%x = input "x" : float32[2, 3]
%key = input "key" : int32[2]
%rate = input "rate" : float32[]
%w = parameter "w" : float32[3] @layer
%wide = scale %w {factor=2} @layer
%y = multiply %x, %wide @layer
%z = dropout %y, %key {rate=0.5, stream=3} @layer
%g = sum %z {dimensions=[0]} @layer/backward
%loss = sum %z {dimensions=[0, 1]}
output "loss" = %loss
output "gradient/w" = %g
output "y" = %y
output "wide" = %wide
)";

TEST(MicroBatches, RepeatWhatDependsOnTheirInputs) {
  EXPECT_EQ(text_of(split_into_micro_batches(graph_of(kStep), {.count = 2})), numbered(R"(
%x = input "x" : float32[4, 3]
%key = input "key" : int32[2]
%rate = input "rate" : float32[]
%w = parameter "w" : float32[3] @layer
%wide = scale %w {factor=2} @layer
%x0 = slice %x {dimension=0, begin=0, end=2} @/micro_batch0
%y0 = multiply %x0, %wide @layer/micro_batch0
%z0 = dropout %y0, %key {rate=0.5, stream=3} @layer/micro_batch0
%g0 = sum %z0 {dimensions=[0]} @layer/backward/micro_batch0
%loss0 = sum %z0 {dimensions=[0, 1]} @/micro_batch0
%x1 = slice %x {dimension=0, begin=2, end=4} @/micro_batch1
%y1 = multiply %x1, %wide @layer/micro_batch1
%z1 = dropout %y1, %key {rate=0.5, stream=7} @layer/micro_batch1
%g1 = sum %z1 {dimensions=[0]} @layer/backward/micro_batch1
%gs = add %g0, %g1 @layer/backward/micro_batch1
%loss1 = sum %z1 {dimensions=[0, 1]} @/micro_batch1
%losses = add %loss0, %loss1 @/micro_batch1
%g = scale %gs {factor=0.5} @layer/backward
%loss = scale %losses {factor=0.5}
%y = concatenate %y0, %y1 {dimension=0} @layer
output "loss" = %loss
output "gradient/w" = %g
output "y" = %y
output "wide" = %wide
)"));
}

TEST(MicroBatches, WhatAllShareIsAppliedToTheMean) {
  EXPECT_EQ(text_of(split_into_micro_batches(graph_of(R"(
%x = input "x" : float32[2, 3]
%s = parameter "loss_scale" : float32[]
%sum = sum %x {dimensions=[0]} @layer/backward
%half = scale %sum {factor=0.5} @layer/backward
%g = divide %half, %s @layer/backward
output "gradient/w" = %g
)"),
                                             {.count = 2})),
            numbered(R"(
%x = input "x" : float32[4, 3]
%s = parameter "loss_scale" : float32[]
%x0 = slice %x {dimension=0, begin=0, end=2} @/micro_batch0
%sum0 = sum %x0 {dimensions=[0]} @layer/backward/micro_batch0
%x1 = slice %x {dimension=0, begin=2, end=4} @/micro_batch1
%sum1 = sum %x1 {dimensions=[0]} @layer/backward/micro_batch1
%total = add %sum0, %sum1 @layer/backward/micro_batch1
%mean = scale %total {factor=0.5} @layer/backward
%half = scale %mean {factor=0.5} @layer/backward
%g = divide %half, %s @layer/backward
output "gradient/w" = %g
)"));
  // The half is used beside, so each micro-batch has its own.
  EXPECT_THAT(text_of(split_into_micro_batches(graph_of(R"(
%x = input "x" : float32[2, 3]
%half = scale %x {factor=0.5}
%g = scale %half {factor=3}
%other = sum %half {dimensions=[0, 1]}
output "gradient/w" = %g
output "other" = %other
)"),
                                               {.count = 2})),
              AllOf(HasSubstr("{factor=0.5} : float32[2, 3] @/micro_batch1"),
                    Not(HasSubstr("{factor=3} : float32[2, 3] @/micro_batch1"))));
  // An output on the way is one of each micro-batch, too.
  EXPECT_EQ(text_of(split_into_micro_batches(graph_of(R"(
%x = input "x" : float32[2]
%half = scale %x {factor=0.5}
%g = scale %half {factor=3}
output "gradient/half" = %half
output "gradient/g" = %g
)"),
                                             {.count = 2})),
            numbered(R"(
%x = input "x" : float32[4]
%x0 = slice %x {dimension=0, begin=0, end=2} @/micro_batch0
%half0 = scale %x0 {factor=0.5} @/micro_batch0
%x1 = slice %x {dimension=0, begin=2, end=4} @/micro_batch1
%half1 = scale %x1 {factor=0.5} @/micro_batch1
%total = add %half0, %half1 @/micro_batch1
%half = scale %total {factor=0.5}
%g = scale %half {factor=3}
output "gradient/half" = %half
output "gradient/g" = %g
)"));
  // Each micro-batch has a divisor of its own.
  EXPECT_THAT(text_of(split_into_micro_batches(graph_of(R"(
%x = input "x" : float32[2, 3]
%top = maximum %x {dimensions=[0, 1]}
%g = divide %x, %top
output "gradient/w" = %g
)"),
                                               {.count = 2})),
              HasSubstr("= divide %4, %5 : float32[2, 3] @/micro_batch1"));
}

TEST(MicroBatches, OneIsTheGraphItself) {
  EXPECT_EQ(split_into_micro_batches(graph_of(kStep), {}).value(), graph_of(kStep));
}

TEST(MicroBatches, WhatHasNoMeanIsRefused) {
  EXPECT_THAT(split_into_micro_batches(graph_of(kStep), {.count = 0}).error().message,
              HasSubstr("expected 1 to 4096 micro-batches, found 0"));
  const Graph whole = graph_of(R"(
%x = input "x" : int32[4, 1]
%y = reshape %x {shape=[4]}
%z = slice %y {dimension=0, begin=0, end=1}
%w = reshape %z {shape=[]}
output "w" = %w
)");
  EXPECT_THAT(split_into_micro_batches(whole, {.count = 2}).error().message,
              HasSubstr("output \"w\" is int32[], of which micro-batches have no mean"));
}

}  // namespace
}  // namespace hocket
