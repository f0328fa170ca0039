#include "archive/promotions/promoted_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "archive/studies/study_record.h"
#include "core/base/json_reader.h"
#include "tests/rounds.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

using Words = std::vector<std::string>;

Declaration declared(const Space& space) {
  return read_json<Declaration>(to_json(space), read_declaration).value();
}

/// A trial and a promoted configuration run the same command.
TEST(PromotedSetting, CallsTheCommandAsATrialDoes) {
  const Words knobs = {"streams", "credit_bytes", "regions.backward_layer1.bucket_bytes"};
  auto parameters = *schedule_parameters(knobs);
  parameters.push_back(*parse_parameter("X=int:1..9"));
  parameters.push_back(*parse_parameter("MODE=choice:a,b c"));
  parameters.push_back(*parse_parameter("R=float:0..1"));
  for (const bool has_knobs : {true, false}) {
    const auto space = *Space::make({parameters.begin() + (has_knobs ? 0 : 3), parameters.end()});
    Params params = space.defaults();
    params["X"] = std::int64_t{7};
    params["MODE"] = std::string("b c");
    const Words command = {"job", "--x={X}", "{MODE}", "{streams}", "{other}"};
    const auto config = promoted_config(params);
    ASSERT_TRUE(config);
    const auto setting = promoted_setting(*config, declared(space));
    ASSERT_TRUE(setting) << setting.error().message;
    EXPECT_EQ(setting->params, params);
    EXPECT_EQ(setting->schedule.has_value(), has_knobs);
    const auto call = call_with(command, *setting), trial = call_with(command, params);
    EXPECT_EQ(call->argv, trial->argv);
    EXPECT_EQ(call->environment, trial->environment);
  }
}

TEST(PromotedSetting, OfAPushHasEveryKnob) {
  ScheduleConfig config;
  config.streams = 7;
  const auto setting = promoted_setting(to_json(config), {});
  ASSERT_TRUE(setting);
  EXPECT_EQ(std::get<std::int64_t>(setting->params.at("streams")), 7);
  EXPECT_EQ(setting->schedule, config);
}

TEST(PromotedSetting, OfAnUndeclaredNameIsNone) {
  EXPECT_THAT(promoted_setting({{"X", 1}}, {}).error().message,
              testing::HasSubstr("\"X\" is not declared"));
  nlohmann::json config = to_json(ScheduleConfig{});
  config["BASH_ENV"] = "$(touch x)";
  EXPECT_FALSE(promoted_setting(config, {}));
}

/// Returns a value that may be declared, and may be anything else.
nlohmann::json any_value(std::mt19937_64& random) {
  switch (random() % 7) {
    case 0:
      return std::to_string(random() % 9);
    case 1:
      return static_cast<double>(random() % 90) / 10;
    case 2:
      return "a";
    case 3:
      return "$(touch x)";
    case 4:
      return nlohmann::json::array({1});
    default:
      return random() % 9;
  }
}

Declaration any_declaration(std::mt19937_64& random, const std::vector<std::string>& names) {
  Declaration declaration;
  for (const std::string& name : names) {
    if (random() % 2 == 0) continue;
    DeclaredParameter parameter{name, DeclaredIntegers{2, 5}};
    if (random() % 4 == 0) parameter.values = DeclaredReals{0.5, 4};
    if (random() % 4 == 0) parameter.values = DeclaredWords{{"a", "b"}};
    if (random() % 4 == 0) parameter.values = DeclaredNumbers{{1, 2.5, 4}};
    declaration.parameters.push_back(parameter);
  }
  return declaration;
}

/// Says whether a text in the environment is that of a declared value.
bool is_declared_text(const DeclaredParameter& parameter, const std::string& text) {
  const auto number = nlohmann::json::parse(text, nullptr, false);
  if (const auto* words = std::get_if<DeclaredWords>(&parameter.values))
    return std::ranges::count(words->words, text) == 1;
  if (!number.is_number()) return false;
  if (const auto* integers = std::get_if<DeclaredIntegers>(&parameter.values))
    return number.is_number_integer() && number >= integers->low && number <= integers->high;
  if (const auto* reals = std::get_if<DeclaredReals>(&parameter.values))
    return number >= reals->low && number <= reals->high;
  const auto& numbers = std::get<DeclaredNumbers>(parameter.values).numbers;
  return std::ranges::count(numbers, number.get<double>()) == 1;
}

TEST(PromotedSetting, OnlyDeclaredNamesAndValuesReachTheEnvironment) {
  const std::vector<std::string> names = {"A", "B", "FOO_FLAG", "BASH_ENV", "LD_PRELOAD"};
  std::size_t accepted = 0, with_parameters = 0;
  for (std::uint64_t seed = 1; seed <= rounds(20'000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Declaration declaration = any_declaration(random, names);
    nlohmann::json config = random() % 2 ? to_json(ScheduleConfig{}) : nlohmann::json::object();
    for (const std::string& name : names)
      if (random() % 4 == 0) config[name] = any_value(random);
    if (random() % 8 == 0) config["regions"] = {{"r", {{names[random() % 5], 1}}}};
    const auto setting = promoted_setting(config, declaration);
    if (!setting) continue;
    const auto call = call_with({"job", "{A}"}, *setting);
    ASSERT_TRUE(call);
    ++accepted;
    for (const auto& [name, text] : call->environment) {
      if (name == "HOCKET_CONFIG" || find_schedule_knob(name) != nullptr) continue;
      const DeclaredParameter* const parameter = find_parameter(declaration, name);
      ASSERT_NE(parameter, nullptr) << name;
      ASSERT_TRUE(is_declared_text(*parameter, text)) << name << "=" << text;
      ++with_parameters;
    }
    for (const std::string& name : names)
      ASSERT_EQ(setting->params.contains(name), config.contains(name)) << name;
  }
  EXPECT_GT(accepted, rounds(1000));
  EXPECT_GT(with_parameters, rounds(300));
}

TEST(PromotedSetting, PlaceholdersAreNames) {
  EXPECT_EQ(placeholders_of(
                {"a", "{X}", "--y={Y_2}:{X}", "{}", "{1}", "{a b}", "{", "{regions.l.k}", "{{Z}}"}),
            (Words{"X", "Y_2", "regions.l.k", "Z"}));
}

TEST(PromotedSetting, ArgumentsStandWhereTheCommandHasThem) {
  const Params params = {{"BUCKET", std::int64_t{4}},
                         {"LR", 0.5},
                         {"MODE", std::string("a b")},
                         {"NUM_WORKERS", std::int64_t{2}}};
  EXPECT_EQ(setting_arguments({"torchrun", "--nproc", "2", "train.py", "--bucket-mb", "{BUCKET}",
                               "--lr={LR}", "-v", "x", "{MODE}"},
                              params),
            (Words{"--bucket-mb", "4", "--lr=0.5", "a b", "--num-workers", "2"}));
  EXPECT_EQ(setting_arguments({}, {{"X", std::int64_t{1}}}), (Words{"--x", "1"}));
  EXPECT_EQ(setting_arguments({"job", "{OTHER}"}, {}), Words{});
}

TEST(PromotedSetting, WhatIsUnsetIsInNoArgument) {
  const Params params = {{"ALGO", std::string("unset")},
                         {"MODE", std::string("unset")},
                         {"AMP", std::int64_t{0}},
                         {"N", std::int64_t{3}}};
  EXPECT_EQ(setting_arguments({"job", "--algo", "{ALGO}", "{AMP?--amp:--no-amp}", "{MODE}", "{N}"},
                              params),
            (Words{"--no-amp", "3"}));
  EXPECT_EQ(setting_arguments({"job", "{AMP?--amp}", "--n={N}"}, params), (Words{"--n=3"}));
  const auto config = promoted_config(params);
  ASSERT_TRUE(config);
  const auto space = *Space::make({*parse_parameter("ALGO=choice:unset,ring"),
                                   *parse_parameter("MODE=choice:unset,a"),
                                   *parse_parameter("AMP=bool"), *parse_parameter("N=int:1..3")});
  const auto setting = promoted_setting(*config, declared(space));
  ASSERT_TRUE(setting);
  const auto call = call_with({"job", "--algo", "{ALGO}"}, *setting);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argv, Words{"job"});
  EXPECT_EQ(call->absent, (Words{"ALGO", "MODE"}));
}

}  // namespace
}  // namespace hocket
