#include "core/graph/graph_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

GraphLine removed(const std::string& text) {
  return {GraphLineSide::before, text};
}
GraphLine added(const std::string& text) {
  return {GraphLineSide::after, text};
}
Graph compared(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

const std::string kX = "%x = input \"x\" : float32[2]\n";

TEST(GraphDiff, NumbersOfValuesMakeNoDifference) {
  EXPECT_THAT(graph_diff(compared(kX + "%y = relu %x\n%z = tanh %y\n"),
                         compared(kX + "%b = relu %x\n%unused = sigmoid %x\n%a = tanh %b\n")),
              ElementsAre(added("%2 = sigmoid %0 : float32[2]")));
}

TEST(GraphDiff, LinesThatDifferAreShown) {
  EXPECT_THAT(graph_diff(compared(kX + "%y = relu %x\noutput \"y\" = %y\n"),
                         compared(kX + "%y = gelu %x\noutput \"y\" = %y\n")),
              ElementsAre(removed("%1 = relu %0 : float32[2]"), added("%1 = gelu %0 : float32[2]"),
                          removed("output \"y\" = %1"), added("output \"y\" = %1")));
  EXPECT_THAT(
      graph_diff(compared(kX + "%y = relu %x\n"), compared(kX + "%y = relu %x @mlp\n")),
      ElementsAre(removed("%1 = relu %0 : float32[2]"), added("%1 = relu %0 : float32[2] @mlp")));
}

TEST(GraphDiff, AnotherOperandIsADifference) {
  const std::string two = kX + "%a = relu %x\n%b = relu %x\n";
  EXPECT_THAT(
      graph_diff(compared(two + "%y = tanh %a\n"), compared(two + "%y = tanh %b\n")),
      ElementsAre(removed("%3 = tanh %1 : float32[2]"), added("%3 = tanh %2 : float32[2]")));
}

/// Returns the length of a longest common subsequence.
std::size_t common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  return best[a.size()][b.size()];
}

/// Returns a graph of operations on one input, by their names.
Graph graph_of(const std::vector<std::string>& names) {
  std::string text = kX;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += "%y" + std::to_string(i) + " = " + names[i] + " %x\n";
  return compared(text);
}

TEST(GraphDiff, AsManyLinesAsPossibleAreMatched) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(300); ++round) {
    const std::vector<std::string> kinds = {"relu", "gelu", "tanh", "silu"};
    std::vector<std::string> names[2];
    for (auto& of : names)
      for (std::size_t i = random() % 30; i > 0; --i)
        of.push_back(kinds[random() % (1 + random() % 4)]);
    const auto lines = graph_diff(graph_of(names[0]), graph_of(names[1]));
    EXPECT_EQ(lines.size(), names[0].size() + names[1].size() - 2 * common(names[0], names[1]));
  }
}

TEST(GraphDiff, RandomGraphsDifferFromOthersAlone) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(50); ++round) {
    const Graph one = random_graph(30, random), other = random_graph(30, random);
    EXPECT_THAT(graph_diff(one, one), IsEmpty());
    EXPECT_EQ(graph_diff(one, other).empty(), one == other);
  }
}

TEST(GraphDiff, LongGraphsWithNothingInCommonEndSoon) {
  std::vector<std::string> one(20'000, "relu"), other(20'000, "gelu");
  EXPECT_EQ(graph_diff(graph_of(one), graph_of(other)).size(), 40'000u);
}

}  // namespace
}  // namespace hocket
