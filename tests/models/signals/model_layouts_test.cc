// Models under signals: 8 ranks compute the bits of one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/graph/passes.h"
#include "core/layout/rank_traffic.h"
#include "models/gpt2.h"
#include "models/llama.h"
#include "models/mixture.h"
#include "models/mlp.h"
#include "models/signals/signals.h"
#include "tests/core/graph/same_values.h"
#include "tests/core/layout/rank_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::UnorderedElementsAre;

Graph divided_gpt2(double dropout = 0) {
  return gpt2({.layers = 2,
               .heads = 4,
               .width = 16,
               .vocabulary = 32,
               .positions = 16,
               .sequence = 16,
               .batch = 8,
               .dropout = dropout})
      .value();
}
Graph divided_llama() {
  return llama({.layers = 2,
                .heads = 8,
                .groups = 4,
                .width = 16,
                .hidden = 32,
                .vocabulary = 32,
                .sequence = 16,
                .batch = 8})
      .value();
}
Graph divided_mixture() {
  return mixture({.layers = 1,
                  .heads = 4,
                  .groups = 4,
                  .width = 16,
                  .hidden = 16,
                  .experts = 4,
                  .choices = 2,
                  .vocabulary = 32,
                  .sequence = 8,
                  .batch = 8})
      .value();
}

Graph step_of(const Graph& model, PassOptions options = {}) {
  options.needed.outputs = {"loss"};
  if (options.optimiser.method == OptimiserMethod::none)
    options.optimiser.method = OptimiserMethod::adamw;
  auto step = run_passes(model, "optimiser", options);
  EXPECT_TRUE(step) << step.error().message;
  return step.value();
}

struct Laid {
  Graph graph;
  LayoutPlan plan;
};

Laid laid_out(Graph graph, const std::string& text) {
  const auto signals = parse_signals(text);
  EXPECT_TRUE(signals) << signals.error().message;
  const Mesh mesh = Mesh::make(signals->mesh, {signals->ranks(), signals->ranks()}).value();
  const auto request = request_layouts(*signals, graph, mesh);
  EXPECT_TRUE(request) << request.error().message;
  auto plan = plan_layouts(graph, mesh, *request);
  EXPECT_TRUE(plan) << plan.error().message;
  return {std::move(graph), std::move(*plan)};
}

std::string difference_under(Graph graph, const std::string& text) {
  const Laid laid = laid_out(std::move(graph), text);
  return difference_on_ranks(laid.graph, laid.plan, random_residues(laid.graph, 7));
}

const char* const kData = "mesh: {data: 8}\nregions:\n  \"*\": {batch: data}\n";
const char* const kZero1 =
    "mesh: {data: 8}\nregions:\n  \"*\": {batch: data, parameters: {zero: 1, axis: data}}\n";
const char* const kZero3 =
    "mesh: {data: 8}\nregions:\n  \"*\": {batch: data, parameters: {zero: 3, axis: data}}\n";
const char* const kContext =
    "mesh: {data: 2, context: 4}\nregions:\n  \"*\": {batch: data, "
    "context: context}\n";
const std::string kGpt2Tensor =
    "  \"block*.attention.qkv\": {columns: tensor}\n"
    "  \"block*.attention.out\": {weight: {rows: tensor}}\n"
    "  \"block*.mlp\": {up: {columns: tensor}, down: {weight: {rows: tensor}}}\n";
const std::string kGpt2Mixed =
    "mesh: {data: 2, tensor: 4}\nregions:\n  \"*\": {batch: data}\n" + kGpt2Tensor;
const std::string kVocabulary = kGpt2Mixed + "  \"embedding.tokens\": {columns: tensor}\n";
const std::string kSequence =
    kVocabulary + "  \"block*\": {sequence: tensor}\n  head: {sequence: tensor}\n";
const std::string kThree =
    "mesh: {data: 2, shard: 2, tensor: 2}\nregions:\n"
    "  \"*\": {batch: [data, shard], parameters: {zero: 3, axis: shard}}\n" +
    kGpt2Tensor;

TEST(ModelLayouts, Gpt2ComputesTheSameBits) {
  for (const std::string& text :
       {std::string(kData), std::string(kZero1), std::string(kZero3), std::string(kContext),
        kGpt2Mixed, kVocabulary, kSequence, kThree})
    EXPECT_EQ(difference_under(step_of(divided_gpt2()), text), "") << text;
}

TEST(ModelLayouts, LlamaComputesTheSameBits) {
  const std::string tensor =
      "mesh: {data: 2, tensor: 4}\nregions:\n  \"*\": {batch: data}\n"
      "  \"block*.attention\": {query: {columns: tensor}, key: {columns: tensor}, "
      "value: {columns: tensor}, out: {rows: tensor}}\n"
      "  \"block*.mlp\": {gate: {columns: tensor}, up: {columns: tensor}, down: {rows: tensor}}\n"
      "  \"head.weight\": {columns: tensor}\n";
  for (const std::string& text : {std::string(kData), std::string(kZero3), std::string(kContext),
                                  tensor, tensor + "  \"block*\": {sequence: tensor}\n"})
    EXPECT_EQ(difference_under(step_of(divided_llama()), text), "") << text;
}

TEST(ModelLayouts, AMixtureComputesTheSameBits) {
  const std::string experts =
      "mesh: {data: 2, tensor: 4}\nregions:\n  \"*\": {batch: data}\n"
      "  \"block*.mlp\": {experts: tensor}\n";
  for (const std::string& text : {std::string(kData), std::string(kZero3), experts})
    EXPECT_EQ(difference_under(step_of(divided_mixture()), text), "") << text;
}

TEST(ModelLayouts, WhatPassesAddIsTheSame) {
  PassOptions options;
  options.micro_batches.count = 2;
  options.recomputation.regions = {"block*"};
  options.optimiser.clip_norm = 1;
  options.optimiser.weight_decay = 0.1;
  for (const std::string& text : {std::string(kZero1), kGpt2Mixed, kThree})
    EXPECT_EQ(difference_under(step_of(divided_gpt2(0.25), options), text), "") << text;
}

/// Random signals: of each region whatever may be said of it, on a random mesh.
std::string random_signals(std::mt19937_64& random) {
  const Mesh mesh = random_mesh(8, random);
  std::string text = "mesh: {";
  for (const MeshAxis& axis : mesh.axes())
    text += (text.back() == '{' ? "" : ", ") + axis.name + ": " + std::to_string(axis.size);
  text += "}\nregions:\n";
  const auto axis = [&] { return mesh.axes()[random() % mesh.axes().size()].name; };
  for (const char* region : {"*", "embedding*", "block*.attention", "block*.attention.out",
                             "block*.mlp", "block1", "block*.mlp.down", "head"}) {
    std::vector<std::string> words;
    if (region[0] == '*' && random() % 2) words.push_back("batch: " + axis());
    if (region[0] == '*' && random() % 3 == 0) words.push_back("context: " + axis());
    for (const char* word : {"columns", "rows", "experts", "sequence"})
      if (random() % 4 == 0) words.push_back(word + (": " + axis()));
    if (random() % 3 == 0)
      words.push_back("parameters: {zero: " + std::to_string(random() % 4) + ", axis: " + axis() +
                      "}");
    text += "  \"" + std::string(region) + "\": {";
    for (const std::string& word : words) text += (text.back() == '{' ? "" : ", ") + word;
    text += "}\n";
  }
  return text;
}

TEST(ModelLayouts, AnyModelUnderAnySignalsComputesTheSameBits) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::uint64_t done = 0;
  const std::uint64_t wanted = rounds(40);
  for (std::uint64_t round = 0; done < wanted && round < 40 * wanted; ++round) {
    PassOptions options;
    if (random() % 2) options.optimiser.method = OptimiserMethod::sgd;
    if (random() % 3 == 0) options.optimiser.clip_norm = 1;
    if (random() % 3 == 0) options.recomputation.regions = {"block*"};
    const Graph model = random() % 3 == 0   ? divided_mixture()
                        : random() % 2 == 0 ? divided_llama()
                                            : divided_gpt2(random() % 2 ? 0.25 : 0);
    const std::string text = random_signals(random);
    const Graph graph = step_of(model, options);
    const auto signals = parse_signals(text);
    ASSERT_TRUE(signals) << signals.error().message << "\n" << text;
    const Mesh mesh = Mesh::make(signals->mesh, {8, 8}).value();
    const auto request = request_layouts(*signals, graph, mesh);
    // Random signals may divide what cannot be divided, or twice over an axis.
    if (!request) continue;
    ++done;
    const auto plan = plan_layouts(graph, mesh, *request);
    ASSERT_TRUE(plan) << plan.error().message << "\n" << text;
    ASSERT_EQ(difference_on_ranks(graph, *plan, random_residues(graph, random())), "") << text;
  }
  EXPECT_EQ(done, wanted);
}

/// Returns the numbers of communications of rank 0's program, as "8 all_reduce tensor".
std::vector<std::string> communications_under(Graph graph, const std::string& text) {
  const Laid laid = laid_out(std::move(graph), text);
  std::map<std::string, std::int64_t> counts;
  for (const RankTraffic& traffic : traffic_of(program_of_rank(laid.graph, laid.plan, 0).value()))
    counts[std::string(to_string(traffic.kind)) + " " + traffic.group] += traffic.count;
  std::vector<std::string> all;
  for (const auto& [words, count] : counts) all.push_back(std::to_string(count) + " " + words);
  return all;
}

/// Weights, of which there are 4 + 2 · 12 in GPT-2's two blocks, the table and its positions and
/// the last norm: with data parallelism each has one sum, and the loss has one.
TEST(ModelLayouts, DataParallelismSumsEachGradientOnce) {
  EXPECT_THAT(communications_under(step_of(divided_gpt2()), kData),
              UnorderedElementsAre("29 all_reduce data"));
}

/// The first stage of ZeRO sends no more than that.
TEST(ModelLayouts, TheFirstStageOfZeroScattersAndGathers) {
  EXPECT_THAT(
      communications_under(step_of(divided_gpt2()), kZero1),
      UnorderedElementsAre("28 reduce_scatter data", "28 all_gather data", "1 all_reduce data"));
}

/// Tensor parallelism has two sums in the forward pass of a block and two in the backward pass
/// (Shoeybi et al., Megatron-LM, 2019, section 3).
TEST(ModelLayouts, TensorParallelismSumsTwiceInABlockAndPass) {
  const auto communications = communications_under(step_of(divided_gpt2()), kGpt2Mixed);
  EXPECT_THAT(communications, UnorderedElementsAre("8 all_reduce tensor", "29 all_reduce data"));
}

/// With sequence parallelism each of them is a reduce-scatter and an all-gather (Korthikanti et
/// al., 2022, section 4.2.2); the forward pass is compared, since the derivative may find cheaper
/// ways for weights.
TEST(ModelLayouts, SequenceParallelismScattersAndGathersInstead) {
  PassOptions options;
  options.needed.outputs = {"loss"};
  const Graph forward = run_passes(divided_llama(), "needed", options).value();
  const std::string text =
      "mesh: {tensor: 4}\nregions:\n"
      "  \"block*.attention\": {query: {columns: tensor}, key: {columns: tensor}, "
      "value: {columns: tensor}, out: {rows: tensor}, sequence: tensor}\n"
      "  \"block*.mlp\": {gate: {columns: tensor}, up: {columns: tensor}, down: {rows: tensor}, "
      "sequence: tensor}\n  head: {sequence: tensor}\n";
  const Laid laid = laid_out(forward, text);
  std::map<std::string, std::int64_t> in_blocks;
  for (const RankTraffic& traffic : traffic_of(program_of_rank(laid.graph, laid.plan, 0).value()))
    if (traffic.region.starts_with("block"))
      in_blocks[std::string(to_string(traffic.kind))] += traffic.count;
  EXPECT_EQ(in_blocks,
            (std::map<std::string, std::int64_t>{{"all_gather", 4}, {"reduce_scatter", 4}}));
}

/// The third stage of ZeRO gathers each weight in both passes, as far as they need it.
TEST(ModelLayouts, TheThirdStageOfZeroGathersInBothPasses) {
  const Laid laid = laid_out(step_of(divided_gpt2()), kZero3);
  const Graph program = program_of_rank(laid.graph, laid.plan, 0).value();
  std::int64_t forward = 0, backward = 0, update = 0;
  for (const RankTraffic& traffic : traffic_of(program)) {
    if (traffic.kind != OperationKind::all_gather) continue;
    const bool is_backward = traffic.region.find("/backward") != std::string::npos;
    const bool is_update = traffic.region.find("/update") != std::string::npos;
    (is_update ? update : is_backward ? backward : forward) += traffic.count;
  }
  EXPECT_EQ(forward, 29);  // the table is used at both ends
  EXPECT_EQ(update, 0);
  EXPECT_GT(backward, 8);
}

}  // namespace
}  // namespace hocket
