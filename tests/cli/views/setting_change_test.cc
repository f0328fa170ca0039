#include "cli/views/setting_change.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using nlohmann::json;

TEST(SettingChange, SaysOldAndNew) {
  EXPECT_EQ(setting_change({{"X", 1}, {"Z", 0}}, {{"X", 2}, {"Y", "b"}}), "X 1 -> 2, Y b, no Z");
  EXPECT_EQ(setting_change({{"X", 1}}, {{"X", 1}}), "the same");
  EXPECT_EQ(setting_change(json::object(), {{"X", 1}}), "X 1");
  EXPECT_EQ(setting_change({{"X", 1}}, json::object()), "the default");
}

TEST(SettingChange, KnobsAreComparedWithTheSchedulersDefault) {
  ScheduleConfig config;
  config.streams = 7;
  const auto usual = std::to_string(ScheduleConfig{}.streams);
  EXPECT_EQ(setting_change(json::object(), to_json(config)), "streams " + usual + " -> 7");
  EXPECT_EQ(setting_change(to_json(config), json::object()), "the default");
  EXPECT_EQ(setting_change(to_json(config), to_json(ScheduleConfig{})), "streams 7 -> " + usual);
}

TEST(SettingText, ListsWhatIsNotTheDefault) {
  ScheduleConfig config;
  config.streams = 7;
  json both = to_json(config);
  both["X"] = "a";
  EXPECT_EQ(setting_text(both), "X=a, streams=7");
  EXPECT_EQ(setting_text(json::object()), "the default");
  EXPECT_EQ(setting_text(to_json(ScheduleConfig{})), "the default");
}

}  // namespace
}  // namespace hocket
