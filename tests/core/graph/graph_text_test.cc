#include "core/graph/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/core/graph/random_graph.h"
#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr const char* kSample = R"(
# A layer, and its loss.
%tokens  = input "tokens" : int32[4, 64]
%targets = input "targets" : int32[4, 64]
%table   = parameter "embedding.table" : float32[256, 128] @embedding
%x       = embedding %table, %tokens : float32[4, 64, 128] @embedding
%w       = parameter "head.weight" : float32[256, 128] @head
%logits  = matmul %x, %w {transpose_b=true} @head
%losses, %sums = cross_entropy %logits, %targets @loss
%total   = sum %losses {dimensions=[0, 1]} : float32[] @loss
%loss    = scale %total {factor=0.00390625} @loss
output "loss" = %loss
)";

constexpr const char* kPrinted =
    R"(%0 = input "tokens" : int32[4, 64]
%1 = input "targets" : int32[4, 64]
%2 = parameter "embedding.table" : float32[256, 128] @embedding
%3 = embedding %2, %0 : float32[4, 64, 128] @embedding
%4 = parameter "head.weight" : float32[256, 128] @head
%5 = matmul %3, %4 {transpose_b=true} : float32[4, 64, 256] @head
%6, %7 = cross_entropy %5, %1 : float32[4, 64], float32[4, 64] @loss
%8 = sum %6 {dimensions=[0, 1]} : float32[] @loss
%9 = scale %8 {factor=0.00390625} : float32[] @loss
output "loss" = %9
)";

TEST(GraphText, IsReadAndPrinted) {
  const auto graph = parse_graph(kSample);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(to_text(*graph), kPrinted);
}

TEST(GraphText, RandomGraphsAreReadBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(100); ++round) {
    const Graph graph = random_graph(1 + static_cast<int>(random() % 40), random);
    const auto again = parse_graph(to_text(graph));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, graph);
  }
}

std::string error_of(const std::string& text) {
  const auto graph = parse_graph(text);
  return graph ? "" : std::string(graph.error().message);
}

TEST(GraphText, ErrorsNameTheLineAndWhatIsExpected) {
  const std::string x = "%x = input \"x\" : float32[2, 3]\n";
  EXPECT_EQ(error_of(x), "");
  EXPECT_THAT(error_of(x + "\n%y = matmul %x, %x @mlp\n"),
              HasSubstr("line 3: matmul in mlp: b: expected 3 numbers"));
  EXPECT_THAT(error_of(x + "%y = rellu %x"), HasSubstr("did you mean \"relu\""));
  EXPECT_THAT(error_of(x + "%y = relu %z"), HasSubstr("%z is no value of a line before"));
  EXPECT_THAT(error_of(x + "%x = relu %x"), HasSubstr("%x is a value already"));
  EXPECT_THAT(error_of(x + "%y = relu %x : float32[2]"),
              HasSubstr("expected float32[2, 3], found \"float32[2]\""));
  EXPECT_THAT(error_of(x + "%y, %z = relu %x"), HasSubstr("expected 1 results"));
  EXPECT_THAT(error_of(x + "%y = relu %x {a=1}"), HasSubstr("attribute of relu, found \"a\""));
  EXPECT_THAT(error_of(x + "%y = scale %x {factor=nan}"), HasSubstr("factor: expected a finite"));
  EXPECT_THAT(error_of(x + "%y = scale %x {factor=1, factor=2}"), HasSubstr("each attribute once"));
  EXPECT_THAT(error_of(x + "%y = scale %x"), HasSubstr("factor: is missing"));
  EXPECT_THAT(error_of(x + "%y = relu %x !"),
              HasSubstr("expected the end of the line, found \"!\""));
  EXPECT_THAT(error_of("%x = input : float32[2]"), HasSubstr("a name in quotes"));
  EXPECT_THAT(error_of("%x = input \"x\""), HasSubstr("expected the type"));
  EXPECT_THAT(error_of("%x = input \"x\" : float64[2]"), HasSubstr("found \"float64\""));
  EXPECT_THAT(error_of("%x = input \"x\" : float32[0]"), HasSubstr("sizes from 1"));
  EXPECT_THAT(error_of("output \"y\" = %x"), HasSubstr("no value of a line before"));
  EXPECT_THAT(error_of("x = input"), HasSubstr("expected a value, such as %3"));
}

TEST(GraphText, MutatedTextIsRefusedOrReadBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(3000); ++round) {
    const std::string text = mutate(kPrinted, random);
    const auto graph = parse_graph(text);
    if (!graph) {
      EXPECT_THAT(graph.error().message, HasSubstr("line "));
      continue;
    }
    EXPECT_EQ(parse_graph(to_text(*graph)).value(), *graph);
  }
}

}  // namespace
}  // namespace hocket
