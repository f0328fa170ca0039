#include "tuner/study/study_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tests/mutate.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_session.h"

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

TEST(StudyDefinition, KeepsDirectionsNamesAndUnits) {
  StudyDefinition definition = some_definition();
  const auto objectives =
      parse_objectives({"max:speed[tokens/s]=regex:t=(.)", "memory", "loss=file:x"}).value();
  definition.objective = objectives.front();
  definition.other_objectives = {objectives.begin() + 1, objectives.end()};
  definition.limits = {*parse_limit("loss=regex:l=(.)<=3"), *parse_limit("file:y>=2")};
  EXPECT_EQ(study_definition_from_json(to_json(definition)).value(), definition);
  EXPECT_EQ(directions_of(definition),
            (std::vector{Direction::maximise, Direction::minimise, Direction::minimise}));
  EXPECT_FALSE(parse_objectives({"file:x", "max:other=file:x"})) << "it is measured twice";
}

TEST(StudyDefinition, KeepsWhereItsDefaultsComeFrom) {
  StudyDefinition definition = some_definition();
  definition.default_sources = {{"X", {DefaultOrigin::script, "train.py"}},
                                {"Y", {DefaultOrigin::assumed}}};
  auto document = to_json(definition);
  EXPECT_EQ(*study_definition_from_json(document), definition);
  EXPECT_EQ(assumed_parameters(definition.default_sources), std::vector<std::string>{"Y"});
  document["default_sources"]["X"]["origin"] = "magic";
  EXPECT_FALSE(study_definition_from_json(document));
}

TEST(StudyDefinition, KeepsTheFilesOfItsCommandAndThatItGoesOn) {
  StudyDefinition definition = some_definition();
  definition.transfer = "earlier";
  definition.goes_on = true;
  definition.files = {{"/w/train.py", "f1", true}, {"/w/a.cfg", "f2", false}};
  auto document = to_json(definition);
  EXPECT_EQ(*study_definition_from_json(document), definition);
  document["files"][0].erase("path");
  EXPECT_FALSE(study_definition_from_json(document));
}

TEST(StudyDefinition, KeepsTheStepAndWhetherItStopsEarly) {
  StudyDefinition definition = some_definition();
  definition.stop_early = true;
  definition.least_trials = 12;
  definition.end_trials_early = true;
  definition.finds_warm_up = true;
  definition.allows_fewer = true;
  definition.needs_default = true;
  definition.stopped = "little is left to gain";
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

TEST(StudyDefinition, KeepsItsWorkers) {
  StudyDefinition definition = some_definition();
  EXPECT_FALSE(to_json(definition).contains("workers"));
  for (const std::int64_t workers : {std::int64_t{0}, std::int64_t{4}, kMostWorkers}) {
    definition.workers = workers;
    definition.slurm = workers > 0 ? "--nodes 4" : "";
    EXPECT_EQ(study_definition_from_json(to_json(definition)).value(), definition);
  }
  definition.workers = kMostWorkers + 1;
  EXPECT_THAT(validate(definition).error().message, testing::HasSubstr("workers"));
}

TEST(StudyDefinition, KeepsSeveralObjectives) {
  StudyDefinition definition = some_definition();
  EXPECT_EQ(to_json(definition).at("objective"), "regex:t=(.)");
  definition.other_objectives = {*parse_objective("memory"), *parse_objective("file:x")};
  const auto document = to_json(definition);
  EXPECT_EQ(document.at("objective"), nlohmann::json({"regex:t=(.)", "memory", "file:x"}));
  const auto read = study_definition_from_json(document);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, definition);
  // A list of one objective is written as that objective.
  auto one = document;
  one["objective"] = {"memory"};
  EXPECT_EQ(to_json(*study_definition_from_json(one)).at("objective"), "memory");

  const std::pair<nlohmann::json, const char*> cases[] = {
      {nlohmann::json::array(), "expected 1 to 3 objectives, found 0"},
      {{"wall", "memory", "report", "file:x"}, "expected 1 to 3 objectives, found 4"},
      {{"wall", "memory", "wall"}, "wall is given twice"},
      {{"memory", "auto"}, "auto must be the first one"},
      {{"auto", "memory", "report"}, "auto may become report"},
      {{"wall", 1}, "field \"objective[1]\": expected a string"},
      {{"wall", "luck"}, "found \"luck\""}};
  for (const auto& [objectives, message] : cases) {
    auto damaged = document;
    damaged["objective"] = objectives;
    const auto refused = study_definition_from_json(damaged);
    ASSERT_FALSE(refused) << objectives;
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
  }
}

TEST(StudyDefinition, SeveralObjectivesGoWithNothingThatIsOfOne) {
  const auto refusal = [](auto change) {
    StudyDefinition definition = some_definition();
    EXPECT_TRUE(validate(definition));
    change(definition);
    EXPECT_TRUE(validate(definition));
    definition.other_objectives = {*parse_objective("memory")};
    const auto valid = validate(definition);
    return valid ? std::string() : valid.error().message;
  };
  EXPECT_EQ(refusal([](StudyDefinition&) {}), "");
  EXPECT_NE(refusal([](auto& d) { d.method = SearchMethod::tpe; }).find("not by tpe"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& d) { d.transfer = ""; }).find("another study"), std::string::npos);
  EXPECT_NE(refusal([](auto& d) { d.donor = Donor{.study = "s"}; }).find("another study"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& d) { d.step.emplace(); }).find("step"), std::string::npos);
}

TEST(StudyDefinition, KeepsItsLimits) {
  StudyDefinition definition = some_definition();
  definition.limits = {*parse_limit("memory<=4.1G"), *parse_limit("regex:loss=(.)<=3.5")};
  const auto read = study_definition_from_json(to_json(definition));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, definition);
  const std::pair<nlohmann::json, const char*> cases[] = {
      {"memory<=1", "field \"limits\": expected an array"},
      {{1}, "field \"limits[0]\": expected a string"},
      {{"memory<=4s"}, "field \"limits[0]\": limit \"memory<=4s\": expected a number of bytes"}};
  for (const auto& [limits, message] : cases) {
    auto damaged = to_json(definition);
    damaged["limits"] = limits;
    const auto refused = study_definition_from_json(damaged);
    ASSERT_FALSE(refused) << limits;
    EXPECT_EQ(refused.error().message.find(message), 0U) << refused.error().message;
  }
  auto damaged = to_json(definition);
  damaged["end_trials_early"] = 1;
  EXPECT_EQ(study_definition_from_json(damaged).error().message,
            "field \"end_trials_early\": expected true or false, found 1");
}

TEST(StudyDefinition, KeepsWhatItStartsFrom) {
  StudyDefinition definition = some_definition();
  definition.transfer = "";
  for (const bool has_distance : {false, true}) {
    definition.donor = Donor{.study = "gpt2-1"};
    if (has_distance) definition.donor->distance = 2.5;
    definition.donor->evaluations = {
        {{{"X", std::int64_t{4}}, {"Y", 1.0}, {"Z", std::string("a")}}, 1.5, 0.25},
        {{{"X", std::int64_t{5}}, {"Y", 0.5}, {"Z", std::string("b")}}, std::nullopt, 0}};
    const auto read = study_definition_from_json(to_json(definition));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, definition);
  }
  const auto refusal = [&](const nlohmann::json::json_pointer& place, nlohmann::json value) {
    auto document = to_json(definition);
    document[place] = std::move(value);
    const auto read = study_definition_from_json(document);
    return read ? "" : read.error().message;
  };
  EXPECT_NE(refusal("/transfer"_json_pointer, 1).find("\"transfer\""), std::string::npos);
  for (const auto& [place, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"/donor", 1},
           {"/donor/study", 1},
           {"/donor/distance", -1},
           {"/donor/evaluations", 1},
           {"/donor/evaluations/0", 1},
           {"/donor/evaluations/0/params", {{"X", nullptr}}},
           {"/donor/evaluations/0/value", "fast"},
           {"/donor/evaluations/0/standard_error", -1}}) {
    EXPECT_NE(refusal(nlohmann::json::json_pointer(place), value).find("\"donor"),
              std::string::npos)
        << place;
  }
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
  StudyDefinition definition = some_definition();
  definition.transfer = "gpt2-1";
  definition.donor = Donor{.study = "gpt2-1", .distance = 2.5};
  definition.donor->evaluations = {{{{"X", std::int64_t{4}}}, 1.5, 0.25}};
  StudyDefinition several = some_definition();
  several.other_objectives = {*parse_objective("memory")};
  const std::string texts[] = {to_json(definition).dump(), to_json(several).dump()};
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    SCOPED_TRACE(i);
    const auto document = parse_object(mutate(texts[i % 2], random), "definition");
    if (!document) continue;
    const auto read = study_definition_from_json(*document);
    EXPECT_TRUE(!read || validate(*read));
  }
}

}  // namespace
}  // namespace hocket
