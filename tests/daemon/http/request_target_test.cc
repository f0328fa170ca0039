#include "daemon/http/request_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02x", static_cast<unsigned char>(c));
    out += escape;
  }
  return out;
}

TEST(RequestTarget, HasSegmentsAndAQuery) {
  const auto target = parse_request_target("/v1/a%20b%2F%c3%A4/c.d?wait=10&key=x%26y%3dz&flag&e==");
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_THAT(target->segments, ElementsAre("v1", "a b/\u00e4", "c.d"));
  EXPECT_THAT(target->query, ElementsAre(Pair("wait", "10"), Pair("key", "x&y=z"), Pair("flag", ""),
                                         Pair("e", "=")));
  EXPECT_EQ(target->find("wait"), "10");
  EXPECT_EQ(target->find("flag"), "");
  EXPECT_EQ(target->find("none"), std::nullopt);
  EXPECT_THAT(parse_request_target("/")->segments, IsEmpty());
  EXPECT_THAT(parse_request_target("/a?")->query, IsEmpty());
  EXPECT_THAT(parse_request_target("/...")->segments, ElementsAre("..."));
}

TEST(RequestTarget, RefusesWhatIsReadInMoreThanOneWay) {
  using namespace std::string_literals;
  for (const std::string& text : {""s,
                                  "*"s,
                                  "a"s,
                                  "http://a/b"s,
                                  "//"s,
                                  "/a//b"s,
                                  "/a/"s,
                                  "/."s,
                                  "/a/../b"s,
                                  "/%2e%2E/a"s,
                                  "/a/%2e"s,
                                  "/%"s,
                                  "/%2"s,
                                  "/%zz"s,
                                  "/%2\xff"s,
                                  "/a%00"s,
                                  "/a\0b"s,
                                  "/a%0a"s,
                                  "/\x7f"s,
                                  "/\xff"s,
                                  "/%c3"s,
                                  "/%c3%28"s,
                                  "/%c0%af"s,
                                  "/%e0%80%af"s,
                                  "/%ed%a0%80"s,
                                  "/%f4%90%80%80"s,
                                  "/%f5%80%80%80"s,
                                  "/a?b=%"s,
                                  "/a?b=%00"s,
                                  "/a?b=1&b=2"s,
                                  "/a?%62=1&b=2"s,
                                  "/a?=1"s,
                                  "/a?b&&c"s,
                                  "/a#b"s,
                                  "/" + std::string(4096, 'a')}) {
    SCOPED_TRACE(text.substr(0, 50));
    const auto target = parse_request_target(text);
    ASSERT_FALSE(target.has_value());
    EXPECT_THAT(target.error().message, ::testing::StartsWith("the request target "));
  }
}

TEST(RequestTarget, GivesBackWhatWasEncoded) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> pieces = {"a",      "/",      "?",          "&",     "=",
                                             "%",      "#",      "+",          " ",     "..",
                                             "\u00e9", "\u20ac", "\U0001f600", "\uffff"};
    const auto word = [&] {
      std::string text = "x";
      for (auto i = random() % 6; i > 0; --i) text += pieces[random() % pieces.size()];
      return text;
    };
    RequestTarget expected;
    std::string text;
    for (auto i = 1 + random() % 4; i > 0; --i) {
      expected.segments.push_back(word());
      text += "/" + encoded(expected.segments.back());
    }
    for (unsigned i = 0; i < random() % 4; ++i) {
      expected.query.emplace_back(std::to_string(i) + word(), word());
      text += (i == 0 ? "?" : "&") + encoded(expected.query.back().first) + "=" +
              encoded(expected.query.back().second);
    }
    const auto target = parse_request_target(text);
    ASSERT_TRUE(target.has_value()) << text << target.error().message;
    EXPECT_EQ(target->segments, expected.segments);
    EXPECT_EQ(target->query, expected.query);
  }
}

}  // namespace
}  // namespace hocket
