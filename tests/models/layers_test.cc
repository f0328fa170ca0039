#include "models/layers.h"

#include <gtest/gtest.h>

#include "tests/models/sample_model.h"

namespace hocket {
namespace {

TEST(Layers, HeadsAreSplitAndMerged) {
  GraphBuilder model;
  const Value x = model.input("x", {NumberType::float32, {2, 3, 8}});
  const Value heads = split_heads(x, 4);
  EXPECT_EQ(heads.shape(), (Shape{2, 4, 3, 2}));
  model.output("heads", heads);
  model.output("same", merge_heads(heads));
  const Graph graph = built(model.build());
  Numbers numbers{{NumberType::float32, {2, 3, 8}}, {}};
  for (int i = 0; i < 48; ++i) numbers.values.push_back(i);
  EXPECT_EQ(computed(graph, {{"x", numbers}}, "same"), numbers);
  // Head 1 of the first sequence has numbers 2 and 3 of its tokens.
  const auto split = computed(graph, {{"x", numbers}}, "heads").values;
  EXPECT_EQ(std::vector<double>(split.begin() + 6, split.begin() + 12),
            (std::vector<double>{2, 3, 10, 11, 18, 19}));
}

TEST(Layers, DenseNamesItsParametersInTheRegionOfTheCaller) {
  GraphBuilder model;
  const Value x = model.input("x", {NumberType::float32, {2, 3}});
  model.output("y", in_region(model, "block0.mlp", [&] { return dense(x, "up", 5); }));
  const Graph graph = built(model.build());
  EXPECT_EQ(graph.type(*graph.leaf("block0.mlp.up.weight")).shape, (Shape{5, 3}));
  EXPECT_EQ(graph.type(*graph.leaf("block0.mlp.up.bias")).shape, (Shape{5}));
  EXPECT_EQ(regions_of(graph), (std::set<std::string>{"", "block0.mlp"}));
}

}  // namespace
}  // namespace hocket
