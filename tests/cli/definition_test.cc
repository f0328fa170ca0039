#include "cli/definition.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/mutate.h"
#include "tuner/parameter_text.h"

namespace hocket {
namespace {

StudyDefinition definition_of(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const auto& text : texts) parameters.push_back(*parse_parameter(text));
  return {.space = *Space::make(std::move(parameters)),
          .objective = *parse_objective("regex:t=(.)"),
          .skip = 2,
          .seed = 77,
          .trials = 9,
          .confirm_pairs = 4,
          .time_limit_ns = 5,
          .working_directory = "/some/where"};
}

StudyDefinition some_definition() {
  return definition_of({"X=int:1..64:log", "Y=float:0.5..1.5", "Z=choice:a,b"});
}

TEST(StudyDefinition, SurvivesItsJsonForm) {
  const auto definition = some_definition();
  const auto again = study_definition_from_json(to_json(definition));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, definition);
}

TEST(StudyDefinition, RefusesWhatNoStudyCanUse) {
  const auto refused = [](auto change) {
    auto definition = some_definition();
    change(definition);
    return !validate(definition) && !study_definition_from_json(to_json(definition));
  };
  EXPECT_FALSE(refused([](StudyDefinition&) {}));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.trials = 0; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.trials = 1'000'000'000'000; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.confirm_pairs = -1; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.skip = -1; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.seed = -1; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d.time_limit_ns = 0; }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d = definition_of({"X=int:3..3"}); }));
  EXPECT_TRUE(refused([](StudyDefinition& d) { d = definition_of({"streams=int:1..100000"}); }));
}

TEST(StudyDefinition, KeepsTheStepAndWhetherItStopsEarly) {
  StudyDefinition definition = some_definition();
  definition.stop_early = true;
  definition.step.emplace();
  definition.step->layers = {{"layer", 1000, 2000, 3000}};
  definition.step->collective = {10, 0.5, 20};
  const auto read = study_definition_from_json(to_json(definition));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, definition);
  auto damaged = to_json(definition);
  damaged["step"]["layers"][0]["forward_ns"] = -1;
  EXPECT_NE(study_definition_from_json(damaged).error().message.find("layers[0]"),
            std::string::npos);
}

TEST(StudyDefinition, EachMissingFieldIsNamed) {
  const auto complete = to_json(some_definition());
  for (const auto& [field, value] : complete.items()) {
    auto document = complete;
    document.erase(field);
    const auto read = study_definition_from_json(document);
    ASSERT_FALSE(read) << field;
    EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
  }
}

TEST(StudyDefinition, NoDamageCrashesTheReader) {
  const std::string text = to_json(some_definition()).dump();
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const auto document = parse_object(mutate(text, random), "definition");
    if (!document) continue;
    const auto read = study_definition_from_json(*document);
    EXPECT_TRUE(!read || validate(*read));
  }
}

}  // namespace
}  // namespace hocket
