#include "models/llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/sample_model.h"

namespace hocket {
namespace {

using testing::ElementsAre;

constexpr LlamaOptions kTinyLlama{.layers = 2,
                                  .heads = 4,
                                  .groups = 2,
                                  .width = 16,
                                  .hidden = 12,
                                  .vocabulary = 11,
                                  .sequence = 5,
                                  .batch = 2};

TEST(Llama, HasTheParametersOfItsPublishedSizes) {
  std::vector<std::int64_t> counts;
  for (const auto& preset : llama_presets())
    counts.push_back(parameter_count(built(llama(preset.options))));
  EXPECT_THAT(counts, ElementsAre(8'030'261'248, 70'553'706'496));
}

TEST(Llama, HasTheRegionsThatSignalsName) {
  EXPECT_THAT(regions_of(built(llama(kTinyLlama))),
              ElementsAre("", "block0.attention", "block0.mlp", "block1.attention", "block1.mlp",
                          "embedding", "head", "loss"));
}

/// Theirs has norms and rotations in float32.
TEST(Llama, IsThatOfTransformers) {
  const Graph graph = built(llama(kTinyLlama));
  expect_numbers(graph, formula_leaves(graph, kTinyLlama.vocabulary),
                 {.loss = 2.4771917171,
                  .first = {-0.0147733774, 0.2610380904, -0.2339009301},
                  .last = {0.0935773915, 0.2983993926, -0.3778434240}},
                 1e-6);
}

TEST(Llama, HasTheGradientsOfItsLoss) {
  const Graph graph = built(llama(kTinyLlama));
  expect_gradients(graph, formula_leaves(graph, kTinyLlama.vocabulary));
}

TEST(Llama, TheHeadHasWeightsOfItsOwn) {
  const Graph graph = built(llama(kTinyLlama));
  ASSERT_TRUE(graph.leaf("head.weight"));
  EXPECT_EQ(graph.type(*graph.leaf("head.weight")).shape, (Shape{11, 16}));
}

TEST(Llama, SeesHowFarTokensAreApartAndNotWhereTheyAre) {
  // Two sequences end with the same tokens; the second has one token less before them, which
  // nothing sees, because its own key and value are those of the first token.
  LlamaOptions options = kTinyLlama;
  options.layers = 1;
  options.batch = 1;
  const auto last_logits = [&](std::vector<double> tokens) {
    options.sequence = static_cast<std::int64_t>(tokens.size());
    const Graph graph = built(llama(options));
    Leaves leaves = formula_leaves(graph, options.vocabulary);
    leaves.find("tokens")->second.values = std::move(tokens);
    const Numbers logits = computed(graph, leaves, "logits");
    return std::vector<double>(logits.values.end() - 11, logits.values.end());
  };
  const auto one = last_logits({3, 8, 2}), other = last_logits({8, 3, 2});
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - other[i]));
  EXPECT_GT(most, 1e-6) << "the order of tokens counts";
  const auto alike = last_logits({4, 4, 4}), longer = last_logits({4, 4, 4, 4, 4});
  for (std::size_t i = 0; i < alike.size(); ++i) EXPECT_NEAR(alike[i], longer[i], 1e-12);
}

TEST(Llama, SaysWhichOptionDoesNotFit) {
  const auto error = [](LlamaOptions options) { return said(llama(options)); };
  EXPECT_EQ(error({.groups = 5}),
            "heads: 32 is no multiple of 5, the groups; give one, such as 35");
  EXPECT_EQ(error({.width = 4000}),
            "width: 4000 is no multiple of 64, the heads times two (heads are turned by pairs of "
            "numbers); give one, such as 4032");
  EXPECT_EQ(error({.rotary_base = 0}),
            "rotary_base: expected a number from 1 to 1000000000000, found 0");
}

TEST(Llama, BeginsAsItsTransformersDo) {
  EXPECT_EQ(llama_initial({}, "block0.mlp.norm.weight", {4}), Distribution{DistributionKind::ones});
  EXPECT_EQ(llama_initial({}, "head.weight", {4, 4}), normal(0.02));
}

}  // namespace
}  // namespace hocket
