#include "models/gpt2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/sample_model.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Gpt2Options kTinyGpt2{.layers = 2,
                                .heads = 2,
                                .width = 8,
                                .vocabulary = 11,
                                .positions = 6,
                                .sequence = 5,
                                .batch = 2};

TEST(Gpt2, HasTheParametersOfItsPublishedSizes) {
  std::vector<std::int64_t> counts;
  for (const auto& preset : gpt2_presets())
    counts.push_back(parameter_count(built(gpt2(preset.options))));
  EXPECT_THAT(counts, ElementsAre(124'439'808, 354'823'168, 774'030'080, 1'557'611'200));
}

TEST(Gpt2, HasTheRegionsThatSignalsName) {
  EXPECT_THAT(regions_of(built(gpt2(kTinyGpt2))),
              ElementsAre("", "block0.attention", "block0.mlp", "block1.attention", "block1.mlp",
                          "embedding", "head", "loss"));
}

TEST(Gpt2, IsThatOfTransformers) {
  const Graph graph = built(gpt2(kTinyGpt2));
  expect_numbers(graph, formula_leaves(graph, kTinyGpt2.vocabulary),
                 {.loss = 2.9006501096,
                  .first = {0.5540174394, 1.4746061546, 0.9551062737},
                  .last = {0.5381611638, -0.5487062771, -1.0997115492}},
                 1e-9);
}

TEST(Gpt2, HasTheGradientsOfItsLoss) {
  const Graph graph = built(gpt2(kTinyGpt2));
  expect_gradients(graph, formula_leaves(graph, kTinyGpt2.vocabulary));
}

TEST(Gpt2, LossOfEvenLogitsIsTheLogarithmOfTheVocabulary) {
  const Graph graph = built(gpt2(kTinyGpt2));
  Leaves leaves = formula_leaves(graph, kTinyGpt2.vocabulary);
  for (double& each : leaves.find("head.norm.weight")->second.values) each = 0;
  for (double& each : leaves.find("head.norm.bias")->second.values) each = 0;
  EXPECT_NEAR(computed(graph, leaves, "loss").values[0], std::log(11.0), 1e-12);
}

TEST(Gpt2, ATokenDoesNotSeeThoseAfterIt) {
  const Graph graph = built(gpt2(kTinyGpt2));
  Leaves leaves = formula_leaves(graph, kTinyGpt2.vocabulary);
  const Numbers before = computed(graph, leaves, "logits");
  leaves.find("tokens")->second.values[3] = 1;  // the fourth of the first sequence
  const Numbers after = computed(graph, leaves, "logits");
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    const std::size_t row = i / 11;
    EXPECT_EQ(before.values[i] == after.values[i], row != 3 && row != 4) << i;
  }
}

TEST(Gpt2, DropsNothingWithoutDropoutAndElseByItsKey) {
  const Graph kept = built(gpt2(kTinyGpt2));
  EXPECT_FALSE(kept.leaf("key"));
  Gpt2Options options = kTinyGpt2;
  options.dropout = 0.5;
  const Graph dropped = built(gpt2(options));
  std::set<std::int64_t> streams;
  for (const Operation& operation : dropped.operations())
    if (operation.kind == OperationKind::dropout)
      streams.insert(operation.attributes.integer("stream"));
  EXPECT_EQ(streams.size(), 5u);  // the embedding, and two of each block
  Leaves leaves = formula_leaves(dropped, kTinyGpt2.vocabulary);
  const Numbers one = computed(dropped, leaves, "loss");
  leaves.find("key")->second.values = {4, 4};
  EXPECT_NE(computed(dropped, leaves, "loss"), one);
}

TEST(Gpt2, SaysWhichOptionDoesNotFit) {
  const auto error = [](Gpt2Options options) { return said(gpt2(options)); };
  EXPECT_EQ(error({.layers = 0}), "layers: expected a whole number from 1 to 10000, found 0");
  EXPECT_EQ(error({.heads = 7}),
            "width: 768 is no multiple of 7, the heads; give one, such as 770");
  EXPECT_EQ(error({.sequence = 2048}),
            "sequence: 2048 tokens are more than the 1024 positions; give as many positions");
  EXPECT_EQ(error({.dropout = 1}), "dropout: expected a number from 0 to 0.99, found 1");
  EXPECT_THAT(error({.width = 12 << 14,
                     .vocabulary = 1 << 24,
                     .positions = 1 << 24,
                     .sequence = 1 << 24,
                     .batch = 1 << 20}),
              HasSubstr("at most 2^48 numbers"));
}

TEST(Gpt2, BeginsAsItsPaperSays) {
  const Gpt2Options options{.layers = 8};
  const auto initial = [&](std::string_view name) { return gpt2_initial(options, name, {4, 4}); };
  EXPECT_EQ(initial("embedding.tokens"), normal(0.02));
  EXPECT_EQ(initial("block0.attention.qkv.weight"), normal(0.02));
  EXPECT_EQ(initial("block0.attention.out.weight"), normal(0.005));
  EXPECT_EQ(initial("block0.mlp.down.weight"), normal(0.005));
  EXPECT_EQ(initial("block0.mlp.down.bias"), Distribution{});
  EXPECT_EQ(initial("head.norm.weight"), Distribution{DistributionKind::ones});
  EXPECT_EQ(initial("head.norm.bias"), Distribution{});
}

}  // namespace
}  // namespace hocket
