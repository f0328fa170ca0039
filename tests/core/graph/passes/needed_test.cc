#include "core/graph/passes/needed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr const char* kTwoOutputs = R"(
%x = input "x" : float32[4]
%unused = parameter "unused" : float32[4]
%a = tanh %x
%b = gelu %a
%c = relu %a
%d = silu %c
output "b" = %b
output "c" = %c
)";

TEST(Needed, WhatNoOutputNeedsIsLeftOut) {
  EXPECT_EQ(text_of(keep_needed(graph_of(kTwoOutputs), {.outputs = {"b"}})), numbered(R"(
%x = input "x" : float32[4]
%unused = parameter "unused" : float32[4]
%a = tanh %x
%b = gelu %a
output "b" = %b
)"));
  EXPECT_EQ(text_of(keep_needed(graph_of(kTwoOutputs), {})), numbered(R"(
%x = input "x" : float32[4]
%unused = parameter "unused" : float32[4]
%a = tanh %x
%b = gelu %a
%c = relu %a
output "b" = %b
output "c" = %c
)"));
}

TEST(Needed, ANameThatIsNoOutputIsRefused) {
  EXPECT_THAT(keep_needed(graph_of(kTwoOutputs), {.outputs = {"b", "logits"}}).error().message,
              HasSubstr("\"logits\" is no output of the graph, which has b, c"));
}

}  // namespace
}  // namespace hocket
