#include "examples/steps/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "core/base/json.h"

namespace hocket {
namespace {

const std::string kFolder = HOCKET_SOURCE_DIR "/examples/steps/";

std::int64_t parameters_of(const StepDescription& step) {
  std::int64_t bytes = 0;
  for (const StepLayer& layer : step.layers) bytes += layer.parameter_bytes;
  return bytes / 4;
}

StepDescription example(const std::string& file) {
  for (auto& [name, step] : example_steps()) {
    if (name == file) return step;
  }
  ADD_FAILURE() << "there is no " << file;
  return {};
}

TEST(ExampleSteps, FilesAreAsGenerated) {
  for (const auto& [file, step] : example_steps()) {
    const auto text = read_file(kFolder + file);
    ASSERT_TRUE(text) << text.error().message;
    // EXPECT_TRUE, since the difference of two such texts is not readable.
    EXPECT_TRUE(*text == example_text(step)) << file << ": run generate_steps examples/steps";
  }
}

TEST(ExampleSteps, FilesParseAndNameTheirSource) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const auto step = parse_step_description(read_file(entry.path().string()).value());
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_FALSE(step->name.empty());
    EXPECT_FALSE(step->source.empty());
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(ExampleSteps, ParametersAddUpToThePublishedCounts) {
  const std::map<std::string, std::int64_t> published{{"resnet50.json", 25'557'032},
                                                      {"gnmt.json", 160'671'297},
                                                      {"bert-large.json", 336'226'108},
                                                      {"gpt2-124m.json", 124'439'808}};
  for (const auto& [file, count] : published)
    EXPECT_EQ(parameters_of(example(file)), count) << file;
  // The profile is rounded to 10 kB per layer.
  EXPECT_NEAR(static_cast<double>(parameters_of(example("vgg16.json"))), 138'357'544, 16 * 1250);
}

TEST(ExampleSteps, Vgg16IsThePublishedProfile) {
  const StepDescription step = example("vgg16.json");
  ASSERT_EQ(step.layers.size(), 16u);
  EXPECT_EQ(step.layers[13], (StepLayer{"fc6", 411'060'000, 2'900'000, 4'600'000}));
  std::int64_t forward_ns = 0, backward_ns = 0;
  for (const StepLayer& layer : step.layers) {
    forward_ns += layer.forward_ns;
    backward_ns += layer.backward_ns;
  }
  EXPECT_EQ(forward_ns, 234'100'000);
  EXPECT_EQ(backward_ns, 438'700'000);
}

TEST(ExampleSteps, DerivedTimesFollowTheSourcesArithmetic) {
  // fc of ResNet50: 2 · 2048 · 1000 operations per image, 64 images, at 16.92 TFLOP/s.
  const StepLayer fc = example("resnet50.json").layers.back();
  const double forward_ns = 2.0 * 2048 * 1000 * 64 / 16.92e3;
  EXPECT_NEAR(static_cast<double>(fc.forward_ns), forward_ns, 0.001 * forward_ns);
  EXPECT_NEAR(static_cast<double>(fc.backward_ns), 1.874 * forward_ns, 0.002 * forward_ns);
  // All operations: 4.09 billion multiply-adds per image.
  double all_ns = 0;
  for (const StepLayer& layer : example("resnet50.json").layers)
    all_ns += static_cast<double>(layer.forward_ns);
  EXPECT_NEAR(all_ns * 16.92e3 / 64 / 2, 4.09e9, 0.01e9);
}

TEST(ExampleSteps, TiedEmbeddingsBelongToTheFirstLayer) {
  EXPECT_EQ(example("gpt2-124m.json").layers.front().parameter_bytes, 4 * (50257 + 1024) * 768);
  EXPECT_EQ(example("gpt2-124m.json").layers.back().parameter_bytes, 4 * 2 * 768);
}

}  // namespace
}  // namespace hocket
