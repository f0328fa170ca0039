#include "daemon/http/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace hocket {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Lines {
  Log log(bool json, LogLevel level = LogLevel::info) {
    return Log({level, json, [this](std::string_view line) { lines.emplace_back(line); }});
  }
  std::vector<std::string> lines;
};

TEST(Log, WritesPlainLines) {
  Lines written;
  written.log(false).write(LogLevel::warning, "refused",
                           {{"peer", "127.0.0.1"}, {"target", "/a b"}, {"status", 429}});
  ASSERT_THAT(written.lines, SizeIs(1));
  EXPECT_THAT(written.lines[0],
              EndsWith("Z warning refused peer=127.0.0.1 target=\"/a b\" status=429"));
}

TEST(Log, WritesOneObjectALine) {
  Lines written;
  written.log(true).write(LogLevel::info, "serving", {{"port", 7077}, {"address", "::1"}});
  ASSERT_THAT(written.lines, SizeIs(1));
  const auto object = nlohmann::json::parse(written.lines[0]);
  EXPECT_EQ(object["level"], "info");
  EXPECT_EQ(object["message"], "serving");
  EXPECT_EQ(object["port"], 7077);
  EXPECT_EQ(object["address"], "::1");
  EXPECT_TRUE(object.contains("time"));
}

TEST(Log, TextFromOutsideStaysWithinItsLine) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += static_cast<char>(random() % 256);
    for (const bool json : {false, true}) {
      Lines written;
      written.log(json).write(LogLevel::info, "x", {{"target", text}});
      ASSERT_THAT(written.lines, SizeIs(1));
      for (const char c : written.lines[0]) ASSERT_TRUE(c >= 0x20 && c < 0x7f);
      if (json) {
        ASSERT_TRUE(nlohmann::json::accept(written.lines[0])) << written.lines[0];
      }
    }
  }
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  Lines written;
  const Log log = written.log(false, LogLevel::warning);
  log.write(LogLevel::info, "a");
  log.write(LogLevel::error, "b");
  EXPECT_THAT(written.lines, SizeIs(1));
  EXPECT_FALSE(log.writes(LogLevel::debug));
  EXPECT_FALSE(Log().writes(LogLevel::error));
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::debug);
  EXPECT_THAT(parse_log_level("loud").error().message, HasSubstr("debug, info, warning or error"));
}

}  // namespace
}  // namespace hocket
