#include "examples/gpt2/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(Gpt2Config, DefaultsAreValid) {
  EXPECT_TRUE(validate(Gpt2Config{}));
  EXPECT_TRUE(validate(TrainingOptions{}));
}

TEST(Gpt2Config, EveryFieldIsCheckedByName) {
  const std::vector<std::pair<std::string, int Gpt2Config::*>> fields{
      {"layers", &Gpt2Config::layers},   {"heads", &Gpt2Config::heads},
      {"d_model", &Gpt2Config::d_model}, {"sequence", &Gpt2Config::sequence},
      {"batch", &Gpt2Config::batch},     {"vocabulary", &Gpt2Config::vocabulary}};
  for (const auto& [name, member] : fields) {
    for (const int bad :
         {0, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
      SCOPED_TRACE(name + " = " + std::to_string(bad));
      Gpt2Config config;
      config.*member = bad;
      const auto checked = validate(config);
      ASSERT_FALSE(checked);
      EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(checked.error().message, HasSubstr(name + " is " + std::to_string(bad)));
    }
  }
}

TEST(Gpt2Config, HeadsDivideTheWidth) {
  const auto checked = validate(Gpt2Config{.heads = 3, .d_model = 256});
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message,
              HasSubstr("d_model is 256, which is not a multiple of heads (3)"));
}

TEST(TrainingOptions, EveryFieldIsCheckedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, TrainingOptions>> bad{
      {"steps", {.steps = 0}},
      {"rank", {.rank = 2, .world_size = 2}},
      {"rank", {.rank = -1}},
      {"world_size", {.world_size = 0}},
      {"learning_rate", {.adamw = {.learning_rate = nan}}},
      {"learning_rate", {.adamw = {.learning_rate = -1e-3}}},
      {"beta1", {.adamw = {.beta1 = 1}}},
      {"beta2", {.adamw = {.beta2 = 1}}},
      {"epsilon", {.adamw = {.epsilon = 0}}},
      {"weight_decay", {.adamw = {.weight_decay = HUGE_VAL}}},
      {"ranks_per_host", {.world_size = 4, .ranks_per_host = 3}},
      {"ranks_per_host", {.ranks_per_host = 0}},
      {"micro_batches", {.micro_batches = 0}},
      {"micro_batches", {.micro_batches = 1025}},
      {"micro_batches_kept", {.micro_batches = 2, .micro_batches_kept = 3}},
      {"memory_limit_bytes", {.memory_limit_bytes = -1}}};
  for (const auto& [name, options] : bad) {
    SCOPED_TRACE(name);
    const auto checked = validate(options);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(checked.error().message, HasSubstr("training: " + name + " is "));
  }
}

TEST(Gpt2Workload, IsGpt2InForwardOrder) {
  const Workload described = workload({.layers = 2, .d_model = 256, .sequence = 64, .batch = 3});
  EXPECT_EQ(described.name, "gpt2-2x256-s64-b3");
  std::vector<std::string> names;
  for (const TensorSpec& tensor : described.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"embedding", "block.0.attention", "block.0.mlp",
                                             "block.1.attention", "block.1.mlp", "final_norm"}));
  EXPECT_EQ(described.tensors[0].bytes, 4 * (256 + 64) * 256);
  EXPECT_EQ(described.tensors.back().bytes, 4 * 2 * 256);
}

TEST(Gpt2Workload, IsNamedAfterWhatChangesAStep) {
  const Gpt2Config config{.layers = 2};
  const std::string plain = workload(config).name;
  EXPECT_EQ(workload(config, {.micro_batches_kept = 1}).name, plain);
  EXPECT_EQ(workload(config, {.micro_batches = 4}).name, plain + "-m4");
  EXPECT_EQ(workload(config, {.micro_batches = 4, .shard_optimizer = true}).name,
            plain + "-m4-sharded");
  EXPECT_EQ(workload(config, {.update_on_servers = true}).name, plain + "-served");
}

// The smallest published GPT-2 has 124,439,808 parameters.
TEST(Gpt2Workload, CountsTheParametersOfTheSmallGpt2) {
  const Gpt2Config small{
      .layers = 12, .heads = 12, .d_model = 768, .sequence = 1024, .batch = 1, .vocabulary = 50257};
  EXPECT_EQ(workload(small).bytes(), 4 * 124'439'808LL);
}

}  // namespace
}  // namespace hocket
