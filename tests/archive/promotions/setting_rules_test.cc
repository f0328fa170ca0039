#include "archive/promotions/setting_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

std::string why_refused(const PromotedSetting& setting, SettingWords words,
                        const Words& allowed = {}) {
  const auto ok = check_setting(setting, words, allowed);
  return ok ? "accepted" : ok.error().message;
}

PromotedSetting word_setting(const std::string& name, const std::string& value) {
  return {{{name, value}}, {}};
}

TEST(SettingRules, RefuseVariablesByWhichProgramsFindOthersWhoeverDeclaresThem) {
  for (const char* name : {"PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "IFS", "PYTHONSTARTUP",
                           "NODE_OPTIONS", "GIT_SSH_COMMAND", "NCCL_NET_PLUGIN", "PAGER"}) {
    for (const auto words : {SettingWords::own, SettingWords::foreign}) {
      const PromotedSetting setting{{{name, std::int64_t{1}}}, {}};
      EXPECT_THAT(why_refused(setting, words),
                  AllOf(HasSubstr(std::string("the setting has ") + name),
                        HasSubstr(std::string("add --allow-variable ") + name)));
      EXPECT_EQ(why_refused(setting, words, {name}), "accepted");
    }
  }
}

TEST(SettingRules, RefuseHocketsOwnVariablesAndWhatIsNoVariable) {
  for (const char* name : {"HOCKET_STORE", "", "A=B", "BASH_FUNC_x%%", "A\nB", "A B"}) {
    EXPECT_THAT(why_refused(word_setting(name, "1"), SettingWords::own, {name}),
                AllOf(HasSubstr("not applied"), Not(HasSubstr("\n"))))
        << name;
  }
}

TEST(SettingRules, TakeKnobsOfPyTorchAlthoughTheirNamesAreHockets) {
  EXPECT_EQ(why_refused(word_setting("HOCKET_TORCH_BUCKET_CAP_MB", "8"), SettingWords::foreign),
            "accepted");
  EXPECT_NE(why_refused(word_setting("HOCKET_TORCH_QUIET", "1"), SettingWords::own), "accepted");
}

TEST(SettingRules, RefuseForeignWordsThatAreNotPlain) {
  for (const char* value : {"$(touch x)", "`x`", "a b", "a;b", "a\nb", "/tmp/x", "~", "a'b", "a\"b",
                            "a&b", "a|b", "a>b", "\x1b[2J", "a*", "{a}", "a\\b", "caf\xc3\xa9"}) {
    EXPECT_THAT(why_refused(word_setting("MODE", value), SettingWords::foreign),
                AllOf(HasSubstr("MODE"), HasSubstr("--allow-variable MODE")))
        << value;
    EXPECT_EQ(why_refused(word_setting("MODE", value), SettingWords::own), "accepted");
    EXPECT_EQ(why_refused(word_setting("MODE", value), SettingWords::foreign, {"MODE"}),
              "accepted");
  }
  EXPECT_NE(why_refused(word_setting("MODE", std::string(1 << 20, 'a')), SettingWords::foreign),
            "accepted");
  for (const char* value : {"", "ring,tree", "--xla_x=true", "a.b:c+d@e%f", "50%"})
    EXPECT_EQ(why_refused(word_setting("MODE", value), SettingWords::foreign), "accepted") << value;
}

TEST(SettingRules, RefuseForeignWordsInTheSchedulersConfiguration) {
  PromotedSetting setting;
  setting.schedule.emplace().job["mode"] = "a LD_PRELOAD=x";
  EXPECT_THAT(why_refused(setting, SettingWords::foreign), HasSubstr("job.mode"));
  EXPECT_EQ(why_refused(setting, SettingWords::own), "accepted");
  setting.schedule.emplace().regions["a $(x)"].priority = 1;
  EXPECT_THAT(why_refused(setting, SettingWords::foreign), HasSubstr("regions.a $(x)"));
  setting.schedule.emplace().regions["a"].dimension = "a b";
  EXPECT_THAT(why_refused(setting, SettingWords::foreign), HasSubstr("regions.a"));
}

TEST(SettingRules, KeepForeignWordsFromBecomingOptionsOrAssignments) {
  const auto filled = [](const std::string& value, const Words& allowed = {},
                         SettingWords words = SettingWords::foreign) {
    return check_filled({"sh", "-c", "{MODE} train", "{N}"}, word_setting("MODE", value), words,
                        allowed)
        .has_value();
  };
  EXPECT_TRUE(filled("fast"));
  EXPECT_FALSE(filled("-c"));
  EXPECT_FALSE(filled("LD_PRELOAD=x"));
  EXPECT_TRUE(filled("-c", {"MODE"}));
  EXPECT_TRUE(filled("-c", {}, SettingWords::own));
  EXPECT_TRUE(check_filled({"train", "{MODE?--fast}", "{N}"},
                           {{{"MODE", std::string("-c")}, {"N", std::int64_t{-1}}}, {}},
                           SettingWords::foreign, {}));
}

}  // namespace
}  // namespace hocket
