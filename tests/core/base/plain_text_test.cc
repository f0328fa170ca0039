#include "core/base/plain_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/base/text.h"
#include "tests/core/base/shown.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::IsEmpty;

TEST(PlainText, CharactersOfLanguagesAndPictographsStay) {
  for (const std::string text :
       {"plain", "größe", "\u20ac 1.5", "日本語", "العربية", "עברית", "한국어", "हिन्दी", "e\u0301",
        "\U0001f600", "\u2764\ufe0f", "\ufffd", "\u00a0", "\U0010fffd"}) {
    EXPECT_EQ(plain_line(text), text);
    EXPECT_EQ(plain_lines(text), text);
    EXPECT_EQ(printable(text, 100), text);
  }
}

TEST(PlainText, WhatMovesHidesOrTurnsIsReplaced) {
  for (const std::string text :
       {"\x1b",   "\a",     "\b",     "\x7f",   "\xc2\x80", "\xc2\x9b",  "\xc2\x9f", "\u061c",
        "\u200b", "\u200d", "\u200e", "\u200f", "\u202a",   "\u202e",    "\u2060",   "\u2066",
        "\u2069", "\ufeff", "\u00ad", "\u3164", "\ufff9",   "\U000e0041"}) {
    EXPECT_EQ(plain_line("a" + text + "b"), "a\ufffdb") << nlohmann::json(text).dump(-1, ' ', true);
    EXPECT_EQ(plain_lines("a" + text + "b"), "a\ufffdb");
  }
  for (const std::string text : {"\n", "\r", "\t", "\v", "\f", "\xc2\x85", "\u2028", "\u2029"})
    EXPECT_EQ(plain_line("a" + text + "b"), "a b");
  EXPECT_EQ(plain_lines("a\n\tb\r\n\u2028"), "a\n\tb \n ");
}

TEST(PlainText, InvalidUtf8IsReplacedAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\xff", "a\ufffd"},
      {"\x80", "\ufffd"},
      {"\xc0\x9b", "\ufffd\ufffd"},            // an overlong ESC
      {"\xe0\x80\x9b", "\ufffd\ufffd\ufffd"},  // the same in three bytes
      {"\xf0\x80\x80\x9b", "\ufffd\ufffd\ufffd\ufffd"},
      {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},            // a surrogate
      {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},  // beyond U+10FFFF
      {"\xe2\x82", "\ufffd"},                            // cut
      {"\xe2\x82x", "\ufffdx"},
      {"\xc2\n", "\ufffd "},
      {std::string("\0", 1), "\ufffd"}};
  for (const auto& [bytes, plain] : cases) EXPECT_EQ(plain_line(bytes), plain);
}

TEST(PlainText, NoBytesEscape) {
  for (std::uint64_t seed = 0; seed < rounds(3000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::string text;
    for (std::uint64_t left = below(40); left > 0; --left) {
      switch (below(4)) {
        case 0:
          text += static_cast<char>(below(256));
          break;
        case 1:  // the beginning of a character
          text += std::string("\xe2\x80\xc2\xf0\x9b\xed\xa0").substr(below(7), below(3));
          break;
        case 2:
          text += kHostileCharacters[below(kHostileCharacters.size())];
          break;
        default:
          text += static_cast<char>('a' + below(26));
      }
    }
    const std::size_t limit = below(60);
    EXPECT_THAT(what_is_not_plain(plain_line(text)), IsEmpty());
    EXPECT_THAT(what_is_not_plain(plain_lines(text)), IsEmpty());
    EXPECT_EQ(plain_line(plain_line(text)), plain_line(text));
    EXPECT_EQ(plain_line(text).find_first_of("\n\t"), std::string::npos);
    const bool keep_end = below(2) == 0;
    const std::string shown = printable(text, limit, keep_end);
    EXPECT_LE(shown.size(), limit);
    EXPECT_THAT(what_is_not_plain(shown), IsEmpty());

    using Handler = nlohmann::json::error_handler_t;
    const std::string json = nlohmann::json({{text, text}}).dump(2, ' ', false, Handler::replace);
    EXPECT_THAT(what_is_not_plain(plain_json(json)), IsEmpty());
    EXPECT_EQ(nlohmann::json::parse(plain_json(json)), nlohmann::json::parse(json));
  }
}

}  // namespace
}  // namespace hocket
