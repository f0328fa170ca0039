#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kGraph = R"(%x = input "x" : float32[2, 3]
%w = parameter "layer.w" : float32[4, 3] @layer
%y = matmul %x, %w {transpose_b=true} @layer
%z = relu %y @layer.act
%loss = sum %z {dimensions=[0, 1]}
output "loss" = %loss
)";

class GraphVerb : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string file_ = folder_.write("one.graph", kGraph);
};

TEST_F(GraphVerb, ShowsAGraphAsItIsAndAfterAPass) {
  const Answer plain = ask_hocket({"graph", "show", file_});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("%3 = relu %2 : float32[2, 4] @layer.act\n"));
  const Answer after = ask_hocket({"graph", "show", file_, "--after", "derivative"});
  EXPECT_THAT(after.out, HasSubstr("output \"gradient/layer.w\" = "));
  const Answer part =
      ask_hocket({"graph", "show", file_, "--after", "derivative", "--region", "layer.act"});
  EXPECT_THAT(part.out, HasSubstr("@layer.act/backward\n"));
  EXPECT_THAT(part.out, Not(HasSubstr("@layer\n")));
}

TEST_F(GraphVerb, RunsPassesAsItsFlagsSay) {
  const Answer answer = ask_hocket({"graph", "show", file_, "--after", "fusion", "--precision",
                                    "bfloat16", "--micro-batches", "2", "--optimiser", "sgd",
                                    "--recompute", "layer", "--keep", "matmul"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("input \"x\" : float32[4, 3]"));
  EXPECT_THAT(answer.out, HasSubstr("convert %2 {type=bfloat16} : bfloat16[4, 3] @layer"));
  EXPECT_THAT(answer.out, HasSubstr("output \"updated/layer.w\" = "));
}

TEST_F(GraphVerb, ShowsTheMemoryOfAStep) {
  const Answer answer = ask_hocket({"graph", "show", file_, "--after", "derivative", "--memory"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("parameters                 48\n"));
  EXPECT_THAT(answer.out, HasSubstr("inputs                     24\n"));
  EXPECT_THAT(answer.out, HasSubstr("arena of the other values  1024\n"));
  EXPECT_THAT(answer.out, HasSubstr("Most bytes live at "));
  const Answer slack =
      ask_hocket({"graph", "show", file_, "--after", "derivative", "--memory", "--slack", "100"});
  EXPECT_THAT(slack.out, HasSubstr("arena of the other values  1536\n"));
  EXPECT_THAT(ask_hocket({"graph", "show", file_, "--memory", "--slack", "-1"}).err,
              HasSubstr("slack: expected 0 to 1048576 operations, found -1"));
}

TEST_F(GraphVerb, SaysWhichFlagIsWrong) {
  const auto error_of = [&](const std::string& flag, const std::string& value) {
    return ask_hocket({"graph", "show", file_, "--after", "fusion", flag, value}).err;
  };
  EXPECT_THAT(error_of("--precision", "float8"), HasSubstr("--precision: "));
  EXPECT_THAT(error_of("--output", "logits"), HasSubstr("needed: \"logits\" is no output"));
  EXPECT_THAT(error_of("--optimiser", "adam"),
              HasSubstr("--optimiser: expected none, adamw or sgd, found \"adam\""));
  EXPECT_THAT(error_of("--keep", "matmull"), HasSubstr("did you mean \"matmul\""));
  EXPECT_THAT(error_of("--micro-batches", "0"),
              HasSubstr("micro_batches: expected 1 to 4096 micro-batches, found 0"));
  EXPECT_THAT(error_of("--recompute", "a b"), HasSubstr("recomputation: region: "));
  EXPECT_THAT(ask_hocket({"graph", "show", file_, "--precision", "bfloat16"}).err,
              HasSubstr("--precision requires --after"));
}

TEST_F(GraphVerb, CountsRegions) {
  const Answer answer = ask_hocket({"graph", "show", file_, "--regions"});
  EXPECT_EQ(answer.out,
            "region     operations  parameters  their bytes  bytes of results\n"
            "-          1           0           0            4\n"
            "layer      1           12          48           32\n"
            "layer.act  1           0           0            32\n"
            "all        3           12          48           68\n");
}

TEST_F(GraphVerb, CountsThatDoNotFitAreCutOff) {
  std::string text = "%x = input \"x\" : float32[281474976710656]\n";
  for (int i = 0; i < 20'000; ++i) text += "%y" + std::to_string(i) + " = relu %x\n";
  const Answer answer =
      ask_hocket({"graph", "show", folder_.write("vast.graph", text), "--regions"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, HasSubstr("4611686018427387904\n"));
}

TEST_F(GraphVerb, ComparesTwoGraphs) {
  std::string text = kGraph;
  text.replace(text.find("relu"), 4, "gelu");
  const std::string other = folder_.write("other.graph", text);
  EXPECT_EQ(ask_hocket({"graph", "diff", file_, file_}).status, 0);
  const Answer answer = ask_hocket({"graph", "diff", file_, other});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, HasSubstr("- %3 = relu %2 : float32[2, 4] @layer.act\n"
                                    "+ %3 = gelu %2 : float32[2, 4] @layer.act\n"));
}

TEST_F(GraphVerb, SaysWhereAGraphIsWrong) {
  const std::string wrong = folder_.write("wrong.graph", "%x = inputt \"x\"\n");
  const Answer answer = ask_hocket({"graph", "show", wrong});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("wrong.graph: line 1: no operation is called \"inputt\""));
  EXPECT_THAT(ask_hocket({"graph", "show", file_, "--after", "magic"}).err,
              HasSubstr("there is no pass \"magic\""));
  EXPECT_EQ(ask_hocket({"graph", "show", folder_.file("absent")}).status, 1);
}

}  // namespace
}  // namespace hocket
