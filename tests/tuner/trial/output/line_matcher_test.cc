#include "tuner/trial/output/line_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> groups(const std::string& pattern, const std::string& text) {
  const auto matcher = LineMatcher::make(pattern);
  EXPECT_TRUE(matcher) << matcher.error().message;
  std::vector<std::string> found;
  for (const LineMatch& match : matcher->matches(text)) found.push_back(match.group);
  return found;
}

TEST(LineMatcher, FindsEveryMatchOfEveryLine) {
  EXPECT_THAT(groups("step_ms=([0-9.]+)", "step_ms=1.5 step_ms=2\nx\rstep_ms=3\r\nstep_ms=4"),
              ElementsAre("1.5", "2", "3", "4"));
  EXPECT_THAT(groups("^(\\d+)$", "12\n3x\n\n45\n"), ElementsAre("12", "45"));
  EXPECT_THAT(groups("t: (.*?)ms", "t: 5ms, 7ms"), ElementsAre("5"));
  EXPECT_THAT(groups("a(b)?", "a ab"), ElementsAre("", "b"));
  EXPECT_THAT(groups("([ab])", "abba"), ElementsAre("a", "b", "b", "a"));
  EXPECT_THAT(groups("(x)", ""), ElementsAre());
}

TEST(LineMatcher, RefusesPatternsThatCannotWork) {
  EXPECT_EQ(LineMatcher::make("step_ms=[0-9.]+").error().message,
            "the regular expression \"step_ms=[0-9.]+\" has no group; put the number into "
            "parentheses, as in step_ms=([0-9.]+)");
  EXPECT_THAT(LineMatcher::make("(a").error().message,
              ::testing::StartsWith("\"(a\" is not a regular expression: "));
  EXPECT_EQ(LineMatcher::make(std::string(1001, '(')).error().message,
            "the regular expression has 1001 bytes; at most 1000 are allowed");
  EXPECT_FALSE(LineMatcher::make("((a{1000}){1000}){1000}"));
  EXPECT_FALSE(LineMatcher::make(std::string(500, '(')));
}

std::string refusal(const std::string& pattern) {
  const auto matcher = LineMatcher::make(pattern);
  return matcher ? "taken" : matcher.error().message;
}

TEST(LineMatcher, NamesWhatLinearTimeRulesOutAndWhere) {
  const std::string because =
      ") is not supported, because matching takes linear time; match what stands around the number "
      "instead, at character ";
  EXPECT_EQ(refusal("(a)(?=b)"),
            "\"(a)(?=b)\" is not a regular expression: look-around ((?=" + because + "4");
  for (const std::string operation : {"(?!", "(?<=", "(?<!"}) {
    EXPECT_THAT(refusal("([0-9]+)" + operation + "x)"),
                ::testing::AllOf(::testing::HasSubstr("look-around ((?"),
                                 ::testing::EndsWith(because + "9")));
  }
  EXPECT_EQ(refusal("[\\1(?=]\\\\1(a)\\1"),
            "\"[\\1(?=]\\\\1(a)\\1\" is not a regular expression: "
            "a back-reference (\\1" +
                because + "14");
  EXPECT_EQ(refusal("(a)*+"),
            "\"(a)*+\" is not a regular expression: bad repetition operator: *+, "
            "at character 4");
  EXPECT_EQ(refusal("([)]"),
            "\"([)]\" is not a regular expression: missing ): ([)], at character 1");
}

TEST(LineMatcher, ExponentialPatternsTakeLinearTime) {
  const std::string line(LineMatcher::kLineEndBytes - 1, 'a');
  EXPECT_THAT(groups("(a+)+$", line + "b\n"), ElementsAre());
  EXPECT_THAT(groups("^(?:a*)*(b)", line + "b\n"), ElementsAre("b"));
  EXPECT_THAT(groups("(a|aa)+$", "a\n" + line + "\n"), ::testing::SizeIs(2));
}

TEST(LineMatcher, BytesNeedNotBeUtf8) {
  EXPECT_THAT(groups("\xb5s=([0-9]+)", "\xff\xfe \xb5s=12"), ElementsAre("12"));
  EXPECT_THAT(groups("\u00b5s=(.)", std::string("\0 \u00b5s=\xe4x", 9)), ElementsAre("\xe4"));
}

TEST(LineMatcher, OfALongLineTheBeginningAndTheEndAreSearched) {
  constexpr std::size_t kEnd = LineMatcher::kLineEndBytes;
  const std::string filler(kEnd, 'a');
  EXPECT_THAT(groups("y(.)", "y1" + filler + "y2" + filler + "y3\ny4"), ElementsAre("1", "3", "4"));
  EXPECT_THAT(groups("^.*step_ms=([0-9]+).*$", filler + "step_ms=12"), ElementsAre("12"));
  EXPECT_THAT(groups("^y(.)", "y1" + filler + filler + "y2"), ElementsAre("1"));
}

TEST(LineMatcher, ANumberAtTheEdgeOfWhatIsSearchedCountsWhole) {
  std::string line(3 * LineMatcher::kLineEndBytes, ' ');
  line.replace(LineMatcher::kLineEndBytes - 4, 9, "t=123456 ");
  EXPECT_EQ(LineMatcher::make("t=([0-9]+)")->matches(line).at(0).word, "123456");
}

std::vector<std::string> words(const std::string& pattern, const std::string& text) {
  const auto matcher = LineMatcher::make(pattern);
  EXPECT_TRUE(matcher) << matcher.error().message;
  std::vector<std::string> found;
  for (const LineMatch& match : matcher->matches(text))
    found.push_back(match.word + (match.begins_before ? "<" : "") + (match.is_bounded ? "|" : "") +
                    (match.next_word.empty() ? "" : " " + match.next_word));
  return found;
}

TEST(LineMatcher, TellsTheNumberOfWhichAGroupIsAPart) {
  const std::pair<const char*, const char*> cases[] = {{"r=10,753 per", "10,753 per"},
                                                       {"r=1.0753e+04", "1.0753e+04"},
                                                       {"r=1.#INF", "1.#INF"},
                                                       {"r=10 GB/s, x", "10 GB/s"},
                                                       {"r=1.2ktok/s", "1.2ktok/s"},
                                                       {"r=12,5", "12,5"},
                                                       {"r=1:30", "1:30"},
                                                       {"r=10 loss=5", "10"},
                                                       {"r=10, 753", "10"},
                                                       {"r=10]", "10"}};
  for (const auto& [line, word] : cases) EXPECT_THAT(words("r=([0-9.]+)", line), ElementsAre(word));
  EXPECT_THAT(words("([0-9.]+)", "10,753 8"), ElementsAre("10,753 8", "8"));
  EXPECT_THAT(words("r=.*([0-9.]+)", "r=53.25"), ElementsAre("53.25<"));
  EXPECT_THAT(words("r=.*?([0-9.]+)", "r= -5"), ElementsAre("-5<"));
  EXPECT_THAT(words("r=([0-9]+)", "r=12.75"), ElementsAre("12.75"));
  EXPECT_THAT(words("r=([0-9.]+).*", "r=10,753 x"), ElementsAre("10,753 x"));
}

TEST(LineMatcher, WhatAPatternNamesBehindItsGroupIsNotAPartOfIt) {
  EXPECT_THAT(words("r=([0-9.]+),", "r=10,753"), ElementsAre("10|"));
  EXPECT_THAT(words("r=([0-9]+)\\.[0-9]", "r=10.5"), ElementsAre("10|"));
  EXPECT_THAT(words("r=([0-9.]+)k", "r=1.2k"), ElementsAre("1.2|"));
  EXPECT_THAT(words("r=([0-9.]+)(?:s/it|it/s)", "r=1.2it/s"), ElementsAre("1.2it/s|"));
  EXPECT_THAT(words("^[0-9.]+,([0-9.]+)$", "1,250"), ElementsAre("250"));
}

TEST(LineMatcher, ANanWhereANumberIsExpectedIsAMatch) {
  EXPECT_THAT(words("loss=([0-9.]+)", "loss=3 \nloss=nan\nloss=-inf, loss=Infinity"),
              ElementsAre("3", "nan", "-inf", "Infinity"));
  EXPECT_THAT(words("loss=([0-9.]+)", "info nan=1 loss=2"), ElementsAre("2"));
  EXPECT_THAT(words("([0-9.]+)", "nan 2"), ElementsAre("2")) << "the pattern names no place";
  EXPECT_THAT(words("loss=(\\S+)", "loss=nan loss=nano"), ElementsAre("nan", "nano"));
}

TEST(LineMatcher, NestedGroupsTakeLongLines) {
  std::string nested = "(x)";
  for (int i = 0; i < 100; ++i) nested = "(" + nested + "|a)";
  const std::string text(1 << 20, 'a');
  for (const auto& pattern : {nested + "*", std::string("((((.|a)|b)|c)|d)*")}) {
    EXPECT_THAT(groups(pattern, text), ElementsAre("a", "", "a", "")) << "at both ends";
  }
}

TEST(LineMatcher, APatternOfManyStatesIsMatchedInBoundedMemory) {
  std::string text;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    for (int i = 0; i < 4000; ++i) text += random() % 2 == 0 ? 'a' : 'b';
    text += '\n';
  }
  EXPECT_EQ(groups("(a)[ab]{300}c|(b)[ab]{300}d", text).size(), 0u);
}

TEST(LineMatcher, LongOutputIsReadWhole) {
  std::string text;
  for (int i = 0; i < 40'000; ++i)
    text += "iteration " + std::to_string(i) + " loss 3.2 step_ms=12.5 ok\n";
  EXPECT_EQ(groups("step_ms=([0-9.]+)", text).size(), 40'000u);
  EXPECT_EQ(groups("^.*step_ms=([0-9.]+).*$", text).size(), 40'000u);
}

TEST(LineMatcher, MutatedPatternsAndTextNeverCrash) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto matcher = LineMatcher::make(mutated("^s(te|p)*_ms=([0-9.]+)[^a]{1,3}$", random));
    if (!matcher) continue;
    static_cast<void>(matcher->matches(mutated("step_ms=1.5 x\nsp_ms=2\n", random)));
  }
}

}  // namespace
}  // namespace hocket
