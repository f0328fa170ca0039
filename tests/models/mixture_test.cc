#include "models/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/llama.h"
#include "tests/models/sample_model.h"

namespace hocket {
namespace {

using testing::ElementsAre;

constexpr MixtureOptions kTinyMixture{.layers = 2,
                                      .heads = 4,
                                      .groups = 2,
                                      .width = 16,
                                      .hidden = 12,
                                      .experts = 4,
                                      .choices = 2,
                                      .vocabulary = 11,
                                      .sequence = 5,
                                      .batch = 2};

TEST(Mixture, HasTheParametersOfItsPublishedSize) {
  EXPECT_EQ(parameter_count(built(mixture(mixture_presets()[0].options))), 46'702'792'704);
}

TEST(Mixture, HasTheRegionsThatSignalsName) {
  EXPECT_THAT(regions_of(built(mixture(kTinyMixture))),
              ElementsAre("", "block0.attention", "block0.mlp", "block1.attention", "block1.mlp",
                          "embedding", "head", "loss"));
}

/// Mixtral drops no token. Theirs has norms, rotations and routers in float32.
TEST(Mixture, IsMixtralOfTransformers) {
  MixtureOptions options = kTinyMixture;
  options.capacity = 2;
  options.balance = 0;
  const Graph graph = built(mixture(options));
  expect_numbers(graph, formula_leaves(graph, options.vocabulary),
                 {.loss = 2.3063716195,
                  .first = {0.2605754835, -0.1690244248, -0.0995567152},
                  .last = {0.3489094888, -0.4323729398, 0.0629845808}},
                 1e-6);
}

TEST(Mixture, HasTheGradientsOfItsLoss) {
  const Graph graph = built(mixture(kTinyMixture));
  expect_gradients(graph, formula_leaves(graph, kTinyMixture.vocabulary));
}

TEST(Mixture, DividesTheSlotsOfExpertsEvenly) {
  const auto slots = [](double capacity) {
    MixtureOptions options = kTinyMixture;
    options.capacity = capacity;
    return expert_slots(options);
  };
  EXPECT_EQ(slots(1), 5);     // 10 tokens, 2 choices, 4 experts
  EXPECT_EQ(slots(1.25), 7);  // rounded up
  EXPECT_EQ(slots(2), 10);    // experts / choices: one for each token
  EXPECT_EQ(slots(50), 10);   // and no more
  EXPECT_EQ(slots(0.01), 1);
}

/// Returns the leaves of a mixture with experts that are all alike.
Leaves equal_experts(const Graph& graph) {
  Leaves leaves = formula_leaves(graph, kTinyMixture.vocabulary);
  for (auto& [name, numbers] : leaves) {
    if (numbers.type.shape.size() != 3) continue;
    const auto size = numbers.values.size() / 4;
    for (std::size_t i = size; i < numbers.values.size(); ++i)
      numbers.values[i] = numbers.values[i % size];
  }
  return leaves;
}

TEST(Mixture, WithEqualExpertsIsALlama) {
  MixtureOptions options = kTinyMixture;
  options.capacity = 2;  // nothing is dropped
  const Graph graph = built(mixture(options));
  const Leaves leaves = equal_experts(graph);
  LlamaOptions same{.layers = 2,
                    .heads = 4,
                    .groups = 2,
                    .width = 16,
                    .hidden = 12,
                    .vocabulary = 11,
                    .sequence = 5,
                    .batch = 2,
                    .rotary_base = 1e6};
  const Graph dense_graph = built(llama(same));
  Leaves dense_leaves;
  for (const Operation& operation : dense_graph.operations()) {
    if (operation.name.empty()) continue;
    Numbers numbers = leaves.find(operation.name)->second;
    numbers.type = dense_graph.type(operation.first_result);
    numbers.values.resize(static_cast<std::size_t>(numbers.type.count()));
    dense_leaves.emplace(operation.name, std::move(numbers));
  }
  const Numbers one = computed(graph, leaves, "logits");
  const Numbers other = computed(dense_graph, dense_leaves, "logits");
  ASSERT_EQ(one.values.size(), other.values.size());
  for (std::size_t i = 0; i < one.values.size(); ++i)
    EXPECT_NEAR(one.values[i], other.values[i], 1e-12) << i;
}

TEST(Mixture, LeavesOutWhatFindsNoSlot) {
  MixtureOptions options = kTinyMixture;
  options.layers = 1;
  options.capacity = 2;
  const Graph whole = built(mixture(options));
  options.capacity = 0.01;  // one slot for each expert
  const Graph cut = built(mixture(options));
  // The router sends every token to experts 0 and 1.
  Leaves leaves = equal_experts(whole);
  for (double& each : leaves.find("block0.mlp.router.weight")->second.values) each = 0;
  const Numbers all = computed(whole, leaves, "logits"), some = computed(cut, leaves, "logits");
  for (std::size_t row = 0; row < 10; ++row)
    EXPECT_EQ(all.values[row * 11] == some.values[row * 11], row == 0) << row;
}

TEST(Mixture, CountsHowUnevenTheChoicesAre) {
  MixtureOptions options = kTinyMixture;
  const Graph graph = built(mixture(options));
  Leaves leaves = formula_leaves(graph, options.vocabulary);
  // An even router has probabilities of 1/4, whatever is chosen: 4 · Σ share / 4 = 1 a layer.
  for (const char* name : {"block0.mlp.router.weight", "block1.mlp.router.weight"})
    for (double& each : leaves.find(name)->second.values) each = 0;
  EXPECT_NEAR(computed(graph, leaves, "balance").values[0], 2, 1e-12);
  const double loss = computed(graph, leaves, "loss").values[0];
  options.balance = 1;
  EXPECT_NEAR(computed(built(mixture(options)), leaves, "loss").values[0] - loss, 2 * 0.99, 1e-12);
}

TEST(Mixture, OneChoiceOfAllIsTwiceAsUnevenForTwoOfFourExperts) {
  const Graph graph = built(mixture(kTinyMixture));
  Leaves leaves = formula_leaves(graph, kTinyMixture.vocabulary);
  // Equal tokens choose alike, and steep routers have a probability of 1 for the first choice, of
  // which half of the choices are: 4 · 1/2 a layer.
  std::ranges::fill(leaves.find("tokens")->second.values, 4.0);
  for (const char* name : {"block0.mlp.router.weight", "block1.mlp.router.weight"})
    for (double& each : leaves.find(name)->second.values) each *= 1e6;
  EXPECT_NEAR(computed(graph, leaves, "balance").values[0], 4, 1e-12);
}

TEST(Mixture, SaysWhichOptionDoesNotFit) {
  const auto error = [](MixtureOptions options) { return said(mixture(options)); };
  EXPECT_EQ(error({.experts = 4, .choices = 5}), "choices: 5 are more than the 4 experts");
  EXPECT_EQ(error({.capacity = 0}), "capacity: expected a number from 0.01 to 100000, found 0");
  EXPECT_EQ(error({.groups = 3}),
            "heads: 32 is no multiple of 3, the groups; give one, such as 33");
}

}  // namespace
}  // namespace hocket
