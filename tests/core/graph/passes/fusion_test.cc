#include "core/graph/passes/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Leaves of the graphs below.
const std::string kLeaves = R"(
%x = input "x" : float32[2, 4, 8]
%skip = input "skip" : float32[2, 4, 16]
%before = input "before" : float32[2, 4, 16]
%w = parameter "w" : float32[16, 8]
%b = parameter "b" : float32[16]
)";

std::string fused(const std::string& text) {
  return text_of(fuse(graph_of(kLeaves + text)));
}

TEST(Fusion, AProductTakesBiasActivationAndResidual) {
  EXPECT_EQ(fused(R"(
%y = matmul %x, %w {transpose_b=true} @layer
%biased = add %y, %b @layer
%active = gelu %biased @act
%out = add %skip, %active @layer
output "out" = %out
)"),
            numbered(kLeaves + R"(
%out = matmul %x, %w, %b, %skip {transpose_b=true, bias=true, activation=gelu, residual=true} @layer
output "out" = %out
)"));
}

TEST(Fusion, WhatIsUsedBesideIsKeptBefore) {
  EXPECT_EQ(fused(R"(
%y = matmul %x, %w {transpose_b=true}
%active = relu %y
%gradient = relu_gradient %y, %skip
output "active" = %active
output "gradient" = %gradient
)"),
            numbered(kLeaves + R"(
%active, %y = matmul %x, %w {transpose_b=true, activation=relu, keeps_before=true}
%gradient = relu_gradient %y, %skip
output "active" = %active
output "gradient" = %gradient
)"));
}

TEST(Fusion, AProductTakesTheFactorOfAnActivationsDerivative) {
  EXPECT_EQ(fused(R"(
%dy = matmul %x, %w {transpose_b=true}
%dx = silu_gradient %before, %dy
output "dx" = %dx
)"),
            numbered(kLeaves + R"(
%dx = matmul %x, %w, %before {transpose_b=true, gradient_of=silu}
output "dx" = %dx
)"));
  // Here the product is what the activation was of.
  EXPECT_THAT(fused(R"(
%before_it = matmul %x, %w {transpose_b=true}
%dx = silu_gradient %before_it, %skip
output "dx" = %dx
)"),
              HasSubstr("silu_gradient"));
}

TEST(Fusion, AGradientsProductTakesTheSumOfItsRows) {
  EXPECT_EQ(fused(R"(
%db = sum %skip {dimensions=[0, 1]} @layer/backward
%rows = reshape %skip {shape=[8, 16]} @layer/backward
%inputs = reshape %x {shape=[8, 8]} @layer/backward
%dw = matmul %rows, %inputs {transpose_a=true} @layer/backward
output "dw" = %dw
output "db" = %db
)"),
            numbered(R"(
%x = input "x" : float32[2, 4, 8]
%inputs = reshape %x {shape=[8, 8]} @layer/backward
%skip = input "skip" : float32[2, 4, 16]
%rows = reshape %skip {shape=[8, 16]} @layer/backward
%before = input "before" : float32[2, 4, 16]
%w = parameter "w" : float32[16, 8]
%b = parameter "b" : float32[16]
%dw, %db = matmul %rows, %inputs {transpose_a=true, sums_a=true} @layer/backward
output "dw" = %dw
output "db" = %db
)"));
  // Neither of these is a number for each column of the rows.
  for (const char* const dimensions : {"[0, 2]", "[0]"}) {
    EXPECT_THAT(fused("%part = sum %skip {dimensions=" + std::string(dimensions) + R"(}
%rows = reshape %skip {shape=[8, 16]}
%inputs = reshape %x {shape=[8, 8]}
%dw = matmul %rows, %inputs {transpose_a=true}
output "dw" = %dw
output "part" = %part
)"),
                Not(HasSubstr("sums_a")));
  }
}

TEST(Fusion, GradientsOfFewBitsAreWidenedAndAddedUp) {
  const std::string leaves = R"(
%dy = input "dy" : bfloat16[8, 16]
%x = input "x" : bfloat16[8, 4]
%total = input "total" : float32[16, 4]
)";
  EXPECT_EQ(text_of(fuse(graph_of(leaves + R"(
%sums = sum %dy {dimensions=[0]}
%dw = matmul %dy, %x {transpose_a=true}
%wide = convert %dw {type=float32}
%wide_sums = convert %sums {type=float32}
%sum = add %total, %wide
output "sum" = %sum
output "sums" = %wide_sums
)"))),
            numbered(leaves + R"(
%sum, %sums = matmul %dy, %x, %total {transpose_a=true, residual=true, sums_a=true, widens=true}
output "sum" = %sum
output "sums" = %sums
)"));
}

TEST(Fusion, ANormsGradientTakesWhatIsAddedToIt) {
  const std::string leaves = R"(
%x = input "x" : float32[4, 8]
%g = parameter "g" : float32[8]
%r = input "r" : float32[4, 1]
%dy = input "dy" : float32[4, 8]
%skip = input "skip" : float32[4, 8]
)";
  EXPECT_EQ(text_of(fuse(graph_of(leaves + R"(
%dx, %dg = rms_norm_gradient %x, %g, %r, %dy
%all = add %dx, %skip
output "dx" = %all
output "dg" = %dg
)"))),
            numbered(leaves + R"(
%dx, %dg = rms_norm_gradient %x, %g, %r, %dy, %skip {residual=true}
output "dx" = %dx
output "dg" = %dg
)"));
}

TEST(Fusion, PartsThatArePaddedAndAddedArePutSideBySide) {
  const std::string parts = R"(
%a = input "a" : float32[2, 1]
%b = input "b" : float32[2, 2]
%c = input "c" : float32[2, 3]
)";
  EXPECT_EQ(text_of(fuse(graph_of(parts + R"(
%pb = pad %b {dimension=1, before=1, after=3} @layer
%pa = pad %a {dimension=-1, before=0, after=5} @layer
%ab = add %pb, %pa @layer
%pc = pad %c {dimension=1, before=3, after=0} @layer
%all = add %ab, %pc @layer
output "all" = %all
)"))),
            numbered(parts + R"(
%all = concatenate %a, %b, %c {dimension=1} @layer
output "all" = %all
)"));
  // There is a gap, parts lie over each other, or the parts so far are used.
  for (const char* const rest : {
           "%pc = pad %c {dimension=1, before=3, after=0}\n%all = add %pa, %pc\n",
           "%pc = pad %c {dimension=1, before=2, after=1}\n%ab = add %pa, %pb\n"
           "%all = add %ab, %pc\n",
           "%pc = pad %c {dimension=1, before=3, after=0}\n%ab = add %pa, %pb\n"
           "%all = add %ab, %pc\noutput \"ab\" = %ab\n",
       }) {
    const std::string text = parts + "%pa = pad %a {dimension=1, before=0, after=5}\n" +
                             "%pb = pad %b {dimension=1, before=1, after=3}\n" + rest +
                             "output \"all\" = %all\n";
    EXPECT_EQ(text_of(fuse(graph_of(text))), numbered(text));
  }
}

TEST(Fusion, WhatIsUsedOrComesTooLateStays) {
  // An output, a second use, a residual that is there only after the product, and one of another
  // shape.
  for (const char* const text : {
           "%y = matmul %x, %w {transpose_b=true}\n%z = add %y, %b\noutput \"y\" = %y\n"
           "output \"z\" = %z\n",
           "%y = matmul %x, %w {transpose_b=true}\n%z = add %y, %y\noutput \"z\" = %z\n",
           "%y = matmul %x, %w {transpose_b=true}\n%late = tanh %skip\n%z = add %y, %late\n"
           "output \"z\" = %z\n",
           "%one = input \"one\" : float32[4, 1]\n%y = matmul %x, %w {transpose_b=true}\n"
           "%z = add %y, %one\noutput \"z\" = %z\n",
       }) {
    EXPECT_EQ(fused(text), numbered(kLeaves + text));
  }
  // Here a value between is used before all operands are there.
  EXPECT_THAT(fused("%y = matmul %x, %w {transpose_b=true}\n%early = tanh %y\n"
                    "%late = parameter \"late\" : float32[16]\n%biased = add %y, %late\n"
                    "output \"early\" = %early\noutput \"biased\" = %biased\n"),
              Not(HasSubstr("bias=true")));
}

}  // namespace
}  // namespace hocket
