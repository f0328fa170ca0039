#include "profiler/formats/json/repaired_text.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <sstream>

namespace hocket {
namespace {

using Kind = RepairedText::Kind;

std::string read_all(RepairedText& text) {
  return {std::istreambuf_iterator<char>(&text), std::istreambuf_iterator<char>()};
}

std::string repaired(const std::string& given) {
  std::stringbuf in(given);
  RepairedText text(in);
  return read_all(text);
}

TEST(RepairedText, LeavesJsonAlone) {
  for (const std::string text :
       {"", "{}", R"({"a": [-1.5e+3, 2E-4, true, false, null], "NaN": "a NaN, \"inf\" \\"})",
        "\"\u00e4 \u20ac \U0001f600\"", "[\n1,\n2\n]\n", "NaNo", "[1,-2,+3]"}) {
    EXPECT_EQ(repaired(text), text);
  }
  std::mt19937_64 random(5);
  std::string text = "[\"";
  while (text.size() < 300'000) text += static_cast<char>('a' + random() % 26);
  EXPECT_EQ(repaired(text + "\"]"), text + "\"]") << "over the ends of blocks";
}

TEST(RepairedText, ReplacesWhatIsNoJson) {
  EXPECT_EQ(repaired("[NaN, -Infinity,nan]"), "[null, null,null]");
  EXPECT_EQ(repaired("\"a\xff"
                     "b\""),
            "\"a?b\"");
  EXPECT_EQ(repaired("\"\xe2\x82\""), "\"?\"") << "a cut sequence";
  EXPECT_EQ(repaired("\"\xc0\xaf\""), "\"??\"") << "an overlong one";
  EXPECT_EQ(repaired("\"a\tb\nc\""), "\"a b c\"");
  EXPECT_EQ(repaired("{\"x\":inf"), "{\"x\":null");
}

TEST(RepairedText, SaysWhereTheFirstIsAndHowMany) {
  std::stringbuf in("[1,\nNaN,\n\"a\nb\",\nNaN, \"\xff\"]\n");
  RepairedText text(in);
  read_all(text);
  EXPECT_EQ(text.repairs(Kind::not_a_number).first_line, 2);
  EXPECT_EQ(text.repairs(Kind::not_a_number).count, 2);
  EXPECT_EQ(text.repairs(Kind::control_character).first_line, 3);
  EXPECT_EQ(text.repairs(Kind::not_utf8).first_line, 5);
}

TEST(RepairedText, CountsLinesAndTakesTextBack) {
  std::stringbuf in("a\nb\nc\n");
  RepairedText text(in);
  EXPECT_EQ(text.line(), 1);
  for (int i = 0; i < 4; ++i) text.sbumpc();
  EXPECT_EQ(text.line(), 3);
  text.unread("[{");
  EXPECT_EQ(text.line(), 3);
  EXPECT_EQ(read_all(text), "[{c\n");
}

}  // namespace
}  // namespace hocket
