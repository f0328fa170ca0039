#include "core/graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/graph/passes/passed.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kLayer = R"(
%x = input "x" : float32[4, 8]
%w = parameter "layer.weight" : float32[2, 8] @layer
%y = matmul %x, %w {transpose_b=true} @layer
%z = relu %y @layer
%loss = sum %z {dimensions=[0, 1]}
output "loss" = %loss
)";

TEST(Passes, AreInTheOrderInWhichTheyNeedEachOther) {
  std::vector<std::string> names;
  for (const GraphPass& pass : graph_passes()) names.emplace_back(pass.name);
  EXPECT_THAT(names, ElementsAre("needed", "precision", "derivative", "recomputation",
                                 "micro_batches", "optimiser", "fusion"));
}

TEST(Passes, AllOfThemTogether) {
  PassOptions options;
  options.precision.computes = NumberType::float16;
  options.recomputation.regions = {"layer"};
  options.micro_batches.count = 2;
  options.optimiser.method = OptimiserMethod::sgd;
  const std::string text = text_of(run_passes(graph_of(kLayer), "fusion", options));
  EXPECT_THAT(text, HasSubstr("input \"x\" : float32[8, 8]"));
  EXPECT_THAT(text, HasSubstr("@layer/recomputed/micro_batch1"));
  EXPECT_THAT(text, HasSubstr("activation=relu"));
  EXPECT_THAT(text, HasSubstr("residual=true, widens=true} : float32[2, 8] "
                              "@layer/backward/micro_batch1"));
  EXPECT_THAT(text, HasSubstr("output \"updated/layer.weight\""));
  EXPECT_THAT(text, HasSubstr("output \"updated/loss_scale\""));
  EXPECT_THAT(text, Not(HasSubstr("output \"gradient/")));
}

TEST(Passes, StopWhereTheyAreAskedTo) {
  EXPECT_EQ(run_passes(graph_of(kLayer), "").value(), graph_of(kLayer));
  EXPECT_EQ(run_passes(graph_of(kLayer), "precision").value(), graph_of(kLayer));
  EXPECT_THAT(text_of(run_passes(graph_of(kLayer), "derivative")), Not(HasSubstr("keeps_before")));
  EXPECT_THAT(run_passes(graph_of(kLayer), "magic").error().message,
              HasSubstr("there are needed, precision, derivative"));
  PassOptions options;
  options.micro_batches.count = 0;
  EXPECT_THAT(run_passes(graph_of(kLayer), "fusion", options).error().message,
              HasSubstr("micro_batches: expected 1 to 4096"));
}

}  // namespace
}  // namespace hocket
