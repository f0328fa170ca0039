#include "tests/core/graph/same_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_text.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Graph graph_of_lines(std::string_view text) {
  auto graph = parse_graph(text);
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().message;
  return {};
}

TEST(SameValues, LeavesDependOnSeedAndName) {
  const Graph one = graph_of_lines(R"(%x = input "x" : float32[50]
%y = parameter "y" : float32[50])");
  const Graph other = graph_of_lines(R"(%z = input "z" : float32[2]
%y = parameter "y" : float32[50])");
  const ResidueLeaves leaves = random_residues(one, 1);
  EXPECT_EQ(leaves.at("y"), random_residues(other, 1).at("y"));
  EXPECT_NE(leaves.at("y"), random_residues(other, 2).at("y"));
  EXPECT_NE(leaves.at("y"), random_residues(other, (std::uint64_t{1} << 32) + 1).at("y"));
  EXPECT_NE(leaves.at("y").values, leaves.at("x").values);
}

/// Expects each leaf's numbers to fill the range.
void expect_ranges(const ResidueLeaves& leaves, const WholeRanges& ranges) {
  for (const auto& [name, range] : ranges) {
    const std::vector<Residue>& values = leaves.at(name).values;
    EXPECT_EQ(std::min_element(values.begin(), values.end())->whole(), range.least) << name;
    EXPECT_EQ(std::max_element(values.begin(), values.end())->whole(), range.most) << name;
  }
}

TEST(SameValues, WholeNumbersAreInTheRangeOfTheirUses) {
  const Graph graph = graph_of_lines(R"(%table = parameter "table" : float32[7, 3]
%small = parameter "small" : float32[5, 3]
%tokens = input "tokens" : int32[6, 50]
%both = input "both" : int32[300]
%some = slice %tokens {dimension=0, begin=1, end=3}
%flat = reshape %some {shape=[100]}
%x = embedding %table, %flat
%y = embedding %table, %both
%z = embedding %small, %both
%g = embedding_gradient %flat, %x {rows=9}
%targets = input "targets" : int32[300]
%loss, %sums = cross_entropy %y, %targets
%dloss = cross_entropy_gradient %y, %targets, %sums, %loss
%top = input "top" : int32[300, 3]
%dtop = top_k_gradient %top, %y {size=4}
%experts = input "experts" : int32[300, 2]
%slots, %own = dispatch %y, %experts {expert_count=6, capacity=8}
%places = input "places" : int32[300, 2]
%dy = dispatch_gradient %experts, %places, %slots
%free = input "free" : int32[300])");
  const ResidueLeaves leaves = random_residues(graph, 3);
  expect_ranges(leaves, {{"tokens", {0, 6}},
                         {"both", {0, 4}},
                         {"targets", {0, 2}},
                         {"top", {0, 3}},
                         {"experts", {0, 5}},
                         {"places", {-1, 7}}});
  const std::vector<Residue>& free = leaves.at("free").values;
  EXPECT_LT(std::min_element(free.begin(), free.end())->whole(), -1'000'000'000);
  EXPECT_GT(std::max_element(free.begin(), free.end())->whole(), 1'000'000'000);
  expect_ranges(random_residues(graph, 3, {{"both", {2, 3}}}), {{"both", {2, 3}}});
}

TEST(SameValues, StepsBeginAt1) {
  const Graph graph = graph_of_lines(R"(%p = parameter "p" : float32[1]
%rate = input "rate" : float32[]
%step = input "step" : int32[]
%q, %m, %v = adamw %p, %p, %p, %p, %rate, %step
output "q" = %q)");
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_same(graph, graph, seed);
}

TEST(SameValues, SaysWhereOutputsDiffer) {
  const char* const leaves = R"(%x = input "x" : float32[2, 3]
%y = input "y" : float32[2, 3]
)";
  const auto graph = [&](const std::string& lines) { return graph_of_lines(leaves + lines); };
  const Graph sum = graph("%z = add %x, %y\noutput \"z\" = %z\noutput \"x\" = %x");
  expect_same(sum, graph("%z = add %y, %x\noutput \"z\" = %z\noutput \"y\" = %y"), 5);
  expect_same(sum, graph("%h = convert %x {type=bfloat16}\noutput \"x\" = %h"), 5);
  const Graph less = graph("%z = subtract %x, %y\noutput \"z\" = %z");
  expect_different(sum, less, 5);
  EXPECT_THAT(difference(sum, less, 5), HasSubstr("\"z\" differs from place 0 on, "));
  EXPECT_THAT(difference(sum, graph("%z = transpose %x {order=[1, 0]}\noutput \"z\" = %z"), 5),
              HasSubstr("\"z\" is float32[2, 3] before and float32[3, 2]"));
  EXPECT_EQ(difference(sum, graph("output \"other\" = %x"), 5),
            "the graphs have no output of the same name");
  EXPECT_THAT(
      difference(sum, graph_of_lines("%x = input \"x\" : float32[1]\noutput \"x\" = %x"), 5),
      HasSubstr("\"x\" is float32[2, 3] before and float32[1]"));
  // Only the second row differs.
  const char* const padded =
      "%s = slice %x {dimension=0, begin=0, end=1}\n"
      "%p = pad %s {dimension=0, before=0, after=1}\noutput \"x\" = %p";
  EXPECT_THAT(difference(sum, graph(padded), 5), HasSubstr("\"x\" differs from place 3 on, "));
}

TEST(SameValues, LeavesOfOtherTypesHaveTheSameNumbers) {
  const Graph wide = graph_of_lines("%x = input \"x\" : float32[4]\noutput \"x\" = %x");
  const Graph narrow = graph_of_lines(R"(%x = input "x" : bfloat16[2, 2]
%w = convert %x {type=float32}
%y = reshape %w {shape=[4]}
output "x" = %y)");
  expect_same(wide, narrow, 6);
}

TEST(SameValues, LeavesOfTheGraphAfterAreInTheRangesOfTheOneBefore) {
  const char* const leaves = R"(%t = parameter "t" : float32[3, 1]
%i = input "i" : int32[50]
output "i" = %i
)";
  const Graph before = graph_of_lines(std::string(leaves) + "%x = embedding %t, %i");
  expect_same(before, graph_of_lines(leaves), 7);
}

}  // namespace
}  // namespace hocket
