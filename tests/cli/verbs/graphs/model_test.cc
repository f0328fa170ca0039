#include "cli/verbs/graphs/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_text.h"
#include "models/models.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ModelVerb, PrintsTheGraphOfAModelWithItsOptions) {
  const Answer answer = ask_hocket({"graph", "model", "llama", "--layers", "2", "--width", "256",
                                    "--heads", "4", "--groups", "2", "--rotary-base", "10000"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  const auto graph =
      (*find_model("llama"))
          ->build(
              {{"layers", 2}, {"width", 256}, {"heads", 4}, {"groups", 2}, {"rotary_base", 10000}});
  EXPECT_EQ(answer.out, to_text(graph.value()));
  const TemporaryFolder folder;
  const Answer shown =
      ask_hocket({"graph", "show", folder.write("llama.graph", answer.out), "--regions"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("embedding"), HasSubstr("block1.mlp")));
}

TEST(ModelVerb, OptionsChangeThoseOfThePreset) {
  const Answer answer =
      ask_hocket({"graph", "model", "gpt2", "--layers", "1", "--preset", "xl", "--batch", "1"});
  EXPECT_THAT(answer.out, AllOf(HasSubstr("input \"tokens\" : int32[1, 1024]"),
                                HasSubstr("float32[50257, 1600]"), HasSubstr("@block0.mlp"),
                                testing::Not(HasSubstr("@block1"))));
}

TEST(ModelVerb, ListsModelsOptionsAndPresets) {
  const Answer answer = ask_hocket({"graph", "model"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("124m, medium, large, xl"), HasSubstr("8b, 70b"),
                                HasSubstr("8x7b"), HasSubstr("--rotary-base"),
                                HasSubstr("what RMSNorm adds to the mean of squares")));
  for (const Model& model : models()) EXPECT_THAT(answer.out, HasSubstr(model.about));
}

TEST(ModelVerb, SaysWhichOptionDoesNotFit) {
  const auto error = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"graph", "model"};
    all.insert(all.end(), words.begin(), words.end());
    const Answer answer = ask_hocket(all);
    EXPECT_EQ(answer.status, 2);
    return answer.err;
  };
  EXPECT_THAT(error({"gpt2", "--layers", "0"}),
              HasSubstr("layers: expected a whole number from 1 to 10000, found 0"));
  EXPECT_THAT(error({"gpt2", "--preset", "xxl"}),
              HasSubstr("there is no preset \"xxl\"; did you mean \"xl\""));
  EXPECT_THAT(error({"gtp2"}), HasSubstr("gtp2"));
  EXPECT_THAT(error({"mlp", "--heads", "2"}), HasSubstr("does not know --heads"));
  EXPECT_THAT(error({"mlp", "--width", "wide"}), HasSubstr("--width"));
}

}  // namespace
}  // namespace hocket
