#include "models/signals/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/passes.h"
#include "models/gpt2.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSignals, ReadsAxesAndRegions) {
  const auto signals = parse_signals(R"(
# 8 ranks
mesh: {data: 2, tensor: 4}
regions:
  "*":                    {batch: data, parameters: {zero: 1, axis: [data]}}
  "block*.attention.qkv": {columns: tensor}
  "block*.mlp":           {up: {columns: tensor}, down: {weight: {rows: tensor}}}
  "head":                 {shard: {axis: 0, workers: 4}, sequence: tensor}
)");
  ASSERT_TRUE(signals) << signals.error().message;
  EXPECT_THAT(signals->mesh, ElementsAre(MeshAxis{"data", 2}, MeshAxis{"tensor", 4}));
  EXPECT_EQ(signals->ranks(), 8);
  std::vector<std::string> patterns;
  for (const RegionSignal& region : signals->regions) patterns.push_back(region.pattern);
  EXPECT_THAT(patterns, ElementsAre("*", "block*.attention.qkv", "block*.mlp", "block*.mlp.up",
                                    "block*.mlp.down", "block*.mlp.down.weight", "head"));
  EXPECT_THAT(signals->regions[0].batch->names, ElementsAre("data"));
  EXPECT_EQ(signals->regions[0].zero->stage, 1);
  EXPECT_EQ(signals->regions[3].parameters[0].of, ParameterDimension::columns);
  EXPECT_EQ(signals->regions[5].parameters[0].of, ParameterDimension::rows);
  EXPECT_THAT(signals->regions[6].parameters[0].axes.names, ElementsAre("tensor"));
  EXPECT_THAT(signals->regions[6].sequence->names, ElementsAre("tensor"));
}

std::string error_of(const std::string& text) {
  const auto signals = parse_signals(text);
  return signals ? "" : signals.error().message;
}

TEST(ParseSignals, SaysWhatIsWrongAndWhere) {
  const std::string mesh = "mesh: {data: 2, tensor: 2}\nregions:\n  ";
  EXPECT_THAT(error_of("regions: {}"), HasSubstr("mesh: expected axes"));
  EXPECT_THAT(error_of("mesh: {data: 0}"),
              AllOf(HasSubstr("line 1"), HasSubstr("\"data\""), HasSubstr("expected 1 to")));
  EXPECT_THAT(error_of(mesh + "head: {colums: tensor}"),
              AllOf(HasSubstr("line 3"), HasSubstr("did you mean \"columns\"")));
  EXPECT_THAT(error_of(mesh + "head: {columns: tensr}"), HasSubstr("did you mean \"tensor\""));
  EXPECT_THAT(error_of(mesh + "head: {columns: [tensor, tensor]}"), HasSubstr("given twice"));
  EXPECT_THAT(error_of(mesh + "head: {parameters: {zero: 4, axis: data}}"),
              HasSubstr("expected 0 to 3"));
  EXPECT_THAT(error_of(mesh + "head: {parameters: {zero: 1}}"), HasSubstr("expected the axis"));
  EXPECT_THAT(error_of(mesh + "head: {shard: {axis: 0, workers: 2}}"),
              HasSubstr("the size of 2; name the axis"));
  EXPECT_THAT(error_of(mesh + "head: {shard: {axis: 0, workers: 3}}"), HasSubstr("the size of 0"));
  EXPECT_THAT(error_of(mesh + "\"block[3\": {columns: tensor}"), HasSubstr("region"));
  EXPECT_THAT(error_of("mesh: {data: 2}\nmesh: {data: 4}"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("mesh: {a: 1048576, b: 1048576}"), HasSubstr("at most 1048576 ranks"));
  EXPECT_THAT(error_of("mesh: [1, 2"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("- a\n- b"), HasSubstr("expected a map"));
}

Graph divided_step() {
  const Graph model = gpt2({.layers = 1,
                            .heads = 4,
                            .width = 16,
                            .vocabulary = 32,
                            .positions = 8,
                            .sequence = 8,
                            .batch = 4})
                          .value();
  PassOptions options;
  options.needed.outputs = {"loss"};
  options.optimiser.method = OptimiserMethod::adamw;
  return run_passes(model, "optimiser", options).value();
}

Result<LayoutRequest> request_of(const std::string& text) {
  const Signals signals = parse_signals(text).value();
  const Mesh mesh = Mesh::make(signals.mesh, {signals.ranks(), signals.ranks()}).value();
  return request_layouts(signals, divided_step(), mesh);
}

TEST(RequestLayouts, FindsThePartsThatAModelCuts) {
  const auto request = request_of(
      "mesh: {tensor: 4}\nregions:\n  \"*.qkv\": {}\n"
      "  \"block*.attention.qkv\": {columns: tensor}\n");
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message, HasSubstr("is no region"));
  const auto parts = request_of(
      "mesh: {tensor: 4}\nregions:\n"
      "  \"block*.attention.qkv\": {columns: tensor}\n");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->leaves.at("block0.attention.qkv.weight").place(0), (DividedPlace{0, 3}));
  EXPECT_EQ(parts->leaves.at("block0.attention.qkv.bias").place(0), (DividedPlace{0, 3}));
  EXPECT_EQ(parts->leaves.at("first_moment/block0.attention.qkv.weight").place(0),
            (DividedPlace{0, 3}));
  EXPECT_TRUE(parts->leaves.at("block0.mlp.up.weight").is_whole());
}

TEST(RequestLayouts, DividesStatesAsTheStageSays) {
  const auto first = request_of(
      "mesh: {data: 4}\nregions:\n  \"*\": {batch: data, parameters: "
      "{zero: 1, axis: data}}\n");
  ASSERT_TRUE(first) << first.error().message;
  const std::string weight = "block0.mlp.up.weight";
  EXPECT_TRUE(first->leaves.at(weight).is_whole());
  EXPECT_EQ(first->leaves.at("second_moment/" + weight).place(0), (DividedPlace{0, 1}));
  EXPECT_EQ(first->leaves.at("tokens").place(0), (DividedPlace{0, 1}));
  const auto third = request_of(
      "mesh: {data: 4}\nregions:\n  \"*\": {parameters: "
      "{zero: 3, axis: data}}\n");
  EXPECT_EQ(third->leaves.at(weight).place(0), (DividedPlace{0, 1}));
  EXPECT_THAT(third->uses.at(weight).gathered, ElementsAre(0));
}

TEST(RequestLayouts, SaysWhatDoesNotFit) {
  EXPECT_THAT(request_of("mesh: {data: 8}\nregions:\n  \"*\": {batch: data}\n").error().message,
              AllOf(HasSubstr("line 3"), HasSubstr("input \"tokens\""), HasSubstr("dimension 0"),
                    HasSubstr("is 8")));
  EXPECT_THAT(request_of("mesh: {t: 2}\nregions:\n  \"blok0\": {columns: t}\n").error().message,
              AllOf(HasSubstr("line 3"), HasSubstr("is no region")));
}

}  // namespace
}  // namespace hocket
