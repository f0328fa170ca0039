#include "archive/promotions/promoted_setting.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "archive/studies/study_record.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

using Words = std::vector<std::string>;

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
    const auto setting = promoted_setting(*config, &space);
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
  const auto setting = promoted_setting(to_json(config), nullptr);
  ASSERT_TRUE(setting);
  EXPECT_EQ(std::get<std::int64_t>(setting->params.at("streams")), 7);
  EXPECT_EQ(setting->schedule, config);
  EXPECT_FALSE(promoted_setting({{"X", {1, 2}}}, nullptr));
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
  const auto setting = promoted_setting(*config, nullptr);
  ASSERT_TRUE(setting);
  const auto call = call_with({"job", "--algo", "{ALGO}"}, *setting);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argv, Words{"job"});
  EXPECT_EQ(call->absent, (Words{"ALGO", "MODE"}));
}

}  // namespace
}  // namespace hocket
