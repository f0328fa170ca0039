#include "models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/models/sample_model.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const Model& must_find(std::string_view name) {
  return **find_model(name);
}

TEST(Models, HaveDefaultsInTheirRangesAndBuildThem) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    for (const ModelOption& option : model.options) {
      EXPECT_GE(option.value, option.low) << option.name;
      EXPECT_LE(option.value, option.high) << option.name;
      EXPECT_FALSE(option.about.empty());
    }
    const Graph graph = built(model.build({}));
    EXPECT_TRUE(graph.output("loss") && graph.output("logits"));
    EXPECT_TRUE(graph.leaf("targets"));
    EXPECT_EQ(graph.type(*graph.output("loss")), (ValueType{NumberType::float32, {}}));
  }
}

TEST(Models, EveryOptionChangesTheGraph) {
  for (const Model& model : models()) {
    for (const ModelOption& option : model.options) {
      SCOPED_TRACE(std::string(model.name) + " " + std::string(option.name));
      // Twice as much of what must be multiples, and a little else.
      double value = option.is_whole ? 2 * option.value : option.value / 2 + 1;
      if (option.name == "dropout") value = 0.5;
      if (option.name == "sequence" && model.name == "gpt2") value = 512;
      if (option.name == "epsilon") value = 0.5;
      const Graph changed = built(model.build({{std::string(option.name), value}}));
      EXPECT_FALSE(changed == built(model.build({})));
    }
  }
}

TEST(Models, PresetsBuildAndDifferentiate) {
  for (const Model& model : models()) {
    for (const ModelPreset& preset : model.presets) {
      SCOPED_TRACE(std::string(model.name) + " " + std::string(preset.name));
      EXPECT_EQ(preset.values.size(), model.options.size());
      const Graph graph = built(model.build(preset.values));
      const Graph derived = built(differentiate(graph));
      EXPECT_GT(derived.outputs().size(), graph.outputs().size());
      EXPECT_EQ(built(parse_graph(to_text(graph))), graph);
    }
  }
}

TEST(Models, PresetsAreThePublishedSizes) {
  const auto parameters = [](std::string_view name, std::string_view preset) {
    const Model& model = must_find(name);
    return parameter_count(built(model.build((*find_preset(model, preset))->values)));
  };
  EXPECT_EQ(parameters("gpt2", "medium"), 354'823'168);
  EXPECT_EQ(parameters("gpt2", "xl"), 1'557'611'200);
  EXPECT_EQ(parameters("llama", "70b"), 70'553'706'496);
  EXPECT_EQ(parameters("mixture", "8x7b"), 46'702'792'704);
}

TEST(Models, KnowTheFirstValuesOfTheirParameters) {
  EXPECT_EQ(must_find("gpt2").initial({{"layers", 2}}, "block1.mlp.down.weight", {8, 8}),
            normal(0.01));
  EXPECT_EQ(must_find("llama").initial({}, "head.weight", {8, 8}), normal(0.02));
  EXPECT_EQ(must_find("mixture").initial({}, "head.norm.weight", {8}),
            Distribution{DistributionKind::ones});
}

TEST(Models, SayWhatThereIsInPlaceOfAnUnknownName) {
  EXPECT_EQ(
      said(find_model("lama")),
      "there is no model \"lama\"; did you mean \"llama\"; there are gpt2, llama, mixture, mlp");
  EXPECT_EQ(
      said(find_preset(must_find("gpt2"), "125m")),
      "there is no preset \"125m\"; did you mean \"124m\"; there are 124m, medium, large, xl");
  EXPECT_THAT(said(find_model(std::string(500, 'x') + "\n")), testing::Not(HasSubstr("\n")));
  const auto build = [](const OptionValues& values) {
    return said(must_find("mlp").build(values));
  };
  EXPECT_THAT(build({{"with", 3}}),
              HasSubstr("there is no option \"with\"; did you mean \"width\""));
  EXPECT_EQ(build({{"width", 1.5}}), "width: expected a whole number from 1 to 1048576, found 1.5");
  EXPECT_EQ(build({{"width", std::nan("")}}),
            "width: expected a whole number from 1 to 1048576, found nan");
}

/// Models are maths that fits on two pages of a book: nothing of ranks, devices, streams, buffers
/// or the way back is in them.
TEST(Models, AreShortAndSayNothingOfMachines) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HOCKET_SOURCE_DIR "/models")) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || name.starts_with("option") || name.starts_with("models"))
      continue;
    ++seen;
    std::ifstream file(entry.path());
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      if (name.starts_with("initial")) continue;
      for (const char* word :
           {"rank", "device", "stream(", "buffer", "backward", "gradient", "mesh"})
        EXPECT_EQ(line.find(word), std::string::npos) << name << ": " << line;
    }
    EXPECT_LE(lines, 150) << name;
  }
  EXPECT_GE(seen, 12);
}

}  // namespace
}  // namespace hocket
