// Tests the job that trains models that are maths, started as a user would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/step/schedule_config.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

class TrainModel : public testing::Test {
 protected:
  std::vector<std::string> arguments(const std::string& model,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--model", model, "--tokens", text_, "--json"};
    for (const char* const option :
         {"layers=2", "width=32", "heads=4", "vocabulary=256", "sequence=16", "batch=4"})
      all.insert(all.end(), {"--option", option});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static nlohmann::json well(const ProcessResult& process) {
    EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
    return parse_object(process.stdout_text, "output").value_or(nlohmann::json::object());
  }
  static nlohmann::json alone(const std::vector<std::string>& arguments) {
    return well(run_command({program("train_model")}, arguments, {}));
  }
  static std::vector<double> losses_of(const nlohmann::json& document) {
    return document.value("losses", std::vector<double>());
  }

  const TemporaryFolder folder_;
  const std::string text_ = folder_.write(
      "text",
      "A hocket is a melody that several voices share, note by note, so that one sings "
      "while the others rest; whoever rests is part of the song all the same.");
};

TEST_F(TrainModel, LearnsEachModel) {
  for (const std::string model : {"gpt2", "llama", "mixture"}) {
    SCOPED_TRACE(model);
    const std::vector<std::string> more =
        model == "gpt2" ? std::vector<std::string>()
                        : std::vector<std::string>{"--option", "groups=2", "--option", "hidden=64"};
    std::vector<std::string> all = arguments(model, more);
    all.insert(all.end(), {"--steps", "40", "--rate", "0.01", "--clip-norm", "1"});
    const auto losses = losses_of(alone(all));
    ASSERT_EQ(losses.size(), 40U);
    EXPECT_GT(losses.front(), 5);
    EXPECT_LT(losses.back(), 0.7 * losses.front()) << testing::PrintToString(losses);
  }
}

TEST_F(TrainModel, RanksTrainTogether) {
  ScheduleConfig config;
  config.partition_bytes = 16 << 10;
  config.streams = 2;
  const auto document = well(run_command(
      {program("hocket"), "run", "--ranks", "2", "--", program("train_model")},
      arguments("gpt2", {"--steps", "8", "--micro-batches", "2", "--recompute", "block*"}),
      {{"HOCKET_CONFIG", to_json(config).dump()}}));
  const auto losses = losses_of(document);
  ASSERT_EQ(losses.size(), 8U);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(document["workload"]["tensors"][0]["name"], "embedding");
  EXPECT_EQ(document["iterations"].size(), 4U);
}

TEST_F(TrainModel, WeightsAreSavedAndTakenUp) {
  const std::string file = folder_.file("model.safetensors");
  const auto before =
      losses_of(alone(arguments("gpt2", {"--steps", "20", "--rate", "0.01", "--save", file})));
  const auto after = losses_of(alone(arguments("gpt2", {"--steps", "5", "--weights", file})));
  ASSERT_EQ(after.size(), 5U);
  EXPECT_LT(after.front(), 0.9 * before.front());
}

TEST_F(TrainModel, AModelThatDoesNotFitIsRefusedBeforeItIsMade) {
  std::vector<std::string> all = arguments("gpt2");
  for (const char* const option : {"layers=1000", "width=65536", "batch=64"})
    all.insert(all.end(), {"--option", option});
  const ProcessResult process = run_command({program("train_model")}, all, {});
  EXPECT_EQ(process.exit_status, 1) << process.stdout_text;
  EXPECT_THAT(process.stderr_text, HasSubstr("train_model: model: a step takes "));
}

TEST_F(TrainModel, SaysWhatIsWrong) {
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const ProcessResult process = run_command({program("train_model")}, arguments, {});
    EXPECT_EQ(process.exit_status, 2) << process.stdout_text;
    return process.stderr_text;
  };
  EXPECT_THAT(refused({"--tokens", text_, "--model", "gpt3"}), HasSubstr("--model: "));
  EXPECT_THAT(refused({"--tokens", text_, "--option", "layers"}),
              HasSubstr("--option: expected NAME=NUMBER, such as layers=2, found \"layers\""));
  EXPECT_THAT(refused({"--tokens", text_, "--option", "layer=2"}), HasSubstr("layer"));
  EXPECT_THAT(refused({"--tokens", text_, "--preset", "1t"}), HasSubstr("--preset: "));
  EXPECT_THAT(refused({"--tokens", text_, "--model", "mlp"}),
              HasSubstr("mlp takes no tokens; expected a language model"));
  EXPECT_THAT(refused(arguments("gpt2", {"--option", "vocabulary=100"})),
              HasSubstr("--tokens: there is the token 121, and the vocabulary is 100; choose "
                        "one of at least 122"));
  EXPECT_THAT(refused(arguments("mixture", {"--save", folder_.file("x"), "--option", "groups=2"})),
              HasSubstr("--save: Hugging Face's files have no names for mixture"));
  EXPECT_THAT(refused(arguments("gpt2", {"--optimiser", "adam"})),
              HasSubstr("--optimiser: expected adamw or sgd"));
  EXPECT_THAT(refused(arguments("gpt2", {"--recompute", "block*/backward"})),
              HasSubstr("recomputation: region: "));
}

}  // namespace
}  // namespace hocket
