#include "examples/steps/architectures.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "examples/steps/pipelines.h"

namespace hocket {
namespace {

constexpr std::int64_t kBytesPerParameter = 4;
constexpr const char* kCollectiveSource =
    "Collective: all-reduce over 16 ranks at 10 Gb/s, 0.908 ms + 7.40e-10 s/B, as measured in "
    "MG-WFBP (INFOCOM 2019) and DeAR (ICDCS 2023).";

/// Number of parameters, and floating-point operations of a forward pass; a multiply-add counts as
/// two.
struct Layer {
  std::string name;
  std::int64_t parameters = 0;
  double flops = 0;
};

/// A row of the profile, in megabytes and milliseconds, at kProfileBatch.
struct ProfileRow {
  const char* name;
  double megabytes, forward_ms, backward_ms;
};
constexpr int kProfileBatch = 128;
constexpr std::array<ProfileRow, 16> kVgg16Profile{{
    {"conv1_1", 0.01, 26.8, 30.2},
    {"conv1_2", 0.15, 54.5, 124.2},
    {"conv2_1", 0.30, 17.5, 42.4},
    {"conv2_2", 0.59, 26.8, 58.8},
    {"conv3_1", 1.18, 12.2, 19.7},
    {"conv3_2", 2.36, 19.1, 28.5},
    {"conv3_3", 2.36, 17.0, 36.7},
    {"conv4_1", 4.72, 10.3, 15.3},
    {"conv4_2", 9.44, 16.2, 22.6},
    {"conv4_3", 9.44, 13.5, 30.1},
    {"conv5_1", 9.44, 6.4, 7.6},
    {"conv5_2", 9.44, 4.5, 7.6},
    {"conv5_3", 9.44, 5.0, 9.1},
    {"fc6", 411.06, 2.9, 4.6},
    {"fc7", 67.13, 1.0, 0.8},
    {"fc8", 16.39, 0.4, 0.5},
}};

/// Returns a convolution of `kernel`² on `out`² positions, for one image, without its bias.
Layer convolution(std::string name, int kernel, int in_channels, int out_channels, int out) {
  const std::int64_t weights = std::int64_t{kernel} * kernel * in_channels * out_channels;
  return {std::move(name), weights, 2.0 * static_cast<double>(weights) * out * out};
}

/// Returns the operations of a product with `weights` weights on `times` vectors.
double product_flops(std::int64_t weights, double times) {
  return 2.0 * static_cast<double>(weights) * times;
}

/// Returns the operations of one image through VGG16 (Simonyan and Zisserman, 2014, configuration
/// D).
double vgg16_flops() {
  double flops = product_flops(25088 * 4096 + 4096 * 4096 + 4096 * 1000, 1);
  int in = 3, size = 224;
  for (const auto& [channels, count] : {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < count; ++i) {
      flops += convolution("", 3, in, channels, size).flops;
      in = channels;
    }
    size /= 2;
  }
  return flops;
}

/// Nanoseconds that VGG16's profile takes per operation of a forward pass, in the forward pass and
/// in the backward pass.
struct Rate {
  double forward_ns = 0, backward_ns = 0;
};
Rate profiled_rate() {
  Rate rate;
  for (const ProfileRow& row : kVgg16Profile) {
    rate.forward_ns += row.forward_ms * 1e6;
    rate.backward_ns += row.backward_ms * 1e6;
  }
  const double flops = vgg16_flops() * kProfileBatch;
  return {rate.forward_ns / flops, rate.backward_ns / flops};
}

StepDescription described(std::string name, std::string source) {
  StepDescription step;
  step.name = std::move(name);
  step.source = std::move(source) + " " + kCollectiveSource;
  step.ranks = 16;
  step.collective = {.alpha_ns = 908'000, .beta_ns_per_byte = 0.74, .latency_ns = 0};
  return step;
}

StepDescription derived(std::string name, const std::string& parameters, double samples,
                        const std::vector<Layer>& layers) {
  StepDescription step = described(
      std::move(name),
      "Parameters: " + parameters +
          ", fp32. Times: the forward operations of each layer at the rate of VGG16's published "
          "profile (PipeDream, SOSP 2019; batch 128, 30.94 GFLOP an image, 234.1 ms forward, 438.7 "
          "ms backward): 16.92 TFLOP/s forward, and backward 1.874 times as long.");
  const Rate rate = profiled_rate();
  for (const Layer& layer : layers) {
    step.layers.push_back({.name = layer.name,
                           .parameter_bytes = layer.parameters * kBytesPerParameter,
                           .forward_ns = std::llround(layer.flops * samples * rate.forward_ns),
                           .backward_ns = std::llround(layer.flops * samples * rate.backward_ns)});
  }
  return step;
}

StepDescription vgg16() {
  StepDescription step = described(
      "VGG16, batch 128",
      "Parameters and times: PipeDream's published profile of VGG16 (SOSP 2019), batch 128.");
  for (const ProfileRow& row : kVgg16Profile) {
    step.layers.push_back({.name = row.name,
                           .parameter_bytes = std::llround(row.megabytes * 1e6),
                           .forward_ns = std::llround(row.forward_ms * 1e6),
                           .backward_ns = std::llround(row.backward_ms * 1e6)});
  }
  return step;
}

/// Returns a convolution followed by batch normalisation, which adds a scale and a shift per
/// channel.
Layer normalised(std::string name, int kernel, int in_channels, int out_channels, int out) {
  Layer layer = convolution(std::move(name), kernel, in_channels, out_channels, out);
  layer.parameters += 2 * out_channels;
  return layer;
}

StepDescription resnet50() {
  std::vector<Layer> layers{normalised("conv1", 7, 3, 64, 112)};
  int in = 64, size = 56, stage = 2;
  for (const auto& [width, blocks] : {std::pair{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
    for (int block = 0; block < blocks; ++block) {
      const std::string name = "conv" + std::to_string(stage) + "_" + std::to_string(block + 1);
      // The first block of a later stage halves the image in its 3x3 convolution.
      const int before = size;
      if (block == 0 && stage > 2) size /= 2;
      layers.push_back(normalised(name + ".1x1a", 1, in, width, before));
      layers.push_back(normalised(name + ".3x3", 3, width, width, size));
      layers.push_back(normalised(name + ".1x1b", 1, width, 4 * width, size));
      if (block == 0) layers.push_back(normalised(name + ".shortcut", 1, in, 4 * width, size));
      in = 4 * width;
    }
    ++stage;
  }
  layers.push_back({"fc", in * 1000 + 1000, product_flops(in * 1000, 1)});
  return derived("ResNet50, batch 64",
                 "ResNet50 (He et al., 2015, with the stride in the 3x3 convolutions), 25,557,032, "
                 "those of the batch normalisation among them",
                 64, layers);
}

StepDescription gnmt() {
  constexpr std::int64_t width = 1024, vocabulary = 32'320;
  constexpr double source_tokens = 32, target_tokens = 32;
  const auto lstm = [](const std::string& name, std::int64_t inputs, double tokens,
                       std::int64_t directions) {
    const std::int64_t weights = 4 * width * (inputs + width) * directions;
    return Layer{name, weights + 8 * width * directions, product_flops(weights, tokens)};
  };
  std::vector<Layer> layers{{"embedding", vocabulary * width, 0}};
  layers.push_back(lstm("encoder 1, both ways", width, source_tokens, 2));
  layers.push_back(lstm("encoder 2", 2 * width, source_tokens, 1));
  layers.push_back(lstm("encoder 3", width, source_tokens, 1));
  layers.push_back(lstm("encoder 4", width, source_tokens, 1));
  layers.push_back(lstm("decoder 1", width, target_tokens, 1));
  // Normalised additive attention: query, key, and a vector with bias and scale; a score and a sum
  // for each pair of tokens.
  layers.push_back({"attention", 2 * width * width + 2 * width + 1,
                    product_flops(width * width, source_tokens + target_tokens) +
                        product_flops(2 * width, source_tokens * target_tokens)});
  for (const char* name : {"decoder 2", "decoder 3", "decoder 4"})
    layers.push_back(lstm(name, 2 * width, target_tokens, 1));
  layers.push_back({"classifier", vocabulary * width + vocabulary,
                    product_flops(vocabulary * width, target_tokens)});
  return derived("GNMT, batch 128 of 32 + 32 tokens",
                 "GNMT as in MLPerf (GNMTv2: 4 + 4 LSTM layers of 1024, vocabulary 32,320, one "
                 "embedding for both languages), 160,671,297",
                 128, layers);
}

/// Adds the two halves of a transformer block, for one sequence. Each has a layer normalisation.
void add_block(std::vector<Layer>& layers, const std::string& name, std::int64_t width,
               double tokens) {
  const std::int64_t attention = 4 * width * width, mlp = 8 * width * width;
  // Besides the products with the weights, each pair of tokens costs a score and a weighted sum.
  layers.push_back({name + " attention", attention + 4 * width + 2 * width,
                    product_flops(attention, tokens) + product_flops(2 * width, tokens * tokens)});
  layers.push_back({name + " mlp", mlp + 5 * width + 2 * width, product_flops(mlp, tokens)});
}

StepDescription bert_large() {
  constexpr std::int64_t width = 1024, vocabulary = 30'522, positions = 512;
  constexpr double tokens = 128;
  std::vector<Layer> layers{{"embeddings", (vocabulary + positions + 2) * width + 2 * width, 0}};
  for (int block = 0; block < 24; ++block)
    add_block(layers, "block " + std::to_string(block), width, tokens);
  layers.push_back({"pooler and next sentence", width * width + width + 2 * width + 2,
                    product_flops(width * width + 2 * width, 1)});
  // Its output matrix is the embedding's.
  layers.push_back({"masked words", width * width + 3 * width + vocabulary,
                    product_flops(width * width + vocabulary * width, tokens)});
  return derived(
      "BERT-large, batch 32 of 128 tokens",
      "BERT-large with its pre-training heads (Devlin et al., 2018; the output matrix is "
      "the embedding's, which is ready last and needed first), 336,226,108",
      32, layers);
}

StepDescription gpt2() {
  constexpr std::int64_t width = 768, vocabulary = 50'257, positions = 1024;
  constexpr double tokens = 1024;
  std::vector<Layer> layers{{"embeddings", (vocabulary + positions) * width, 0}};
  for (int block = 0; block < 12; ++block)
    add_block(layers, "block " + std::to_string(block), width, tokens);
  layers.push_back({"final norm and output", 2 * width, product_flops(vocabulary * width, tokens)});
  return derived(
      "GPT-2 124M, batch 4 of 1024 tokens",
      "GPT-2 small (Radford et al., 2019; the output matrix is the embedding's, which is "
      "ready last and needed first), 124,439,808",
      4, layers);
}

/// 16 ranks on two hosts: two replicas of four stages, each on two ranks that join their results.
StepDescription pipeline() {
  constexpr PipelineShape kShape{.stages = 4, .micro_batches = 4};
  StepDescription step;
  step.name = "pipeline of four stages";
  step.source = "round figures, measured nowhere";
  step.ranks = 16;
  step.ranks_per_host = 8;
  step.mesh = {{"pipeline", kShape.stages}, {"data", 2}, {"tensor", 2}};
  step.cluster = Cluster{{3e11, 2000}, {12.5e9, 5000}, CollectiveAlgorithm::automatic};
  add_pipeline(step, kShape, {1'000'000, 2'000'000}, 8 << 20, 256 << 20);
  return step;
}

}  // namespace

std::vector<ExampleStep> example_steps() {
  return {{"vgg16.json", vgg16()},    {"resnet50.json", resnet50()},
          {"gnmt.json", gnmt()},      {"bert-large.json", bert_large()},
          {"gpt2-124m.json", gpt2()}, {"pipeline.json", pipeline()}};
}

std::string example_text(const StepDescription& step) {
  return to_json(step).dump(2) + "\n";
}

}  // namespace hocket
