#include "tuner/trial/line_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> groups(const std::string& pattern, const std::string& text) {
  const auto matcher = LineMatcher::make(pattern);
  EXPECT_TRUE(matcher) << matcher.error().message;
  const auto found = matcher->first_groups(text);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(std::vector<std::string>{});
}

TEST(LineMatcher, FindsEveryMatchOfEveryLine) {
  EXPECT_THAT(groups("step_ms=([0-9.]+)", "step_ms=1.5 step_ms=2\nx\rstep_ms=3\r\nstep_ms=4"),
              ElementsAre("1.5", "2", "3", "4"));
  EXPECT_THAT(groups("^(\\d+)$", "12\n3x\n\n45\n"), ElementsAre("12", "45"));
  EXPECT_THAT(groups("t: (.*?)ms", "t: 5ms, 7ms"), ElementsAre("5"));
  EXPECT_THAT(groups("a(b)?", "a ab"), ElementsAre("", "b"));
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

TEST(LineMatcher, GivesUpOnExponentialPatterns) {
  const auto matcher = LineMatcher::make("(a+)+$").value();
  const auto found = matcher.first_groups("fine\n" + std::string(100, 'a') + "b\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "the regular expression takes too many steps (gave up in line 2); write it without "
            "nested repetitions");
}

TEST(LineMatcher, LongLinesAreCut) {
  EXPECT_THAT(groups("(y)", std::string(LineMatcher::kLineLimitBytes, 'a') + "y\ny"),
              ElementsAre("y"));
}

#ifndef HOCKET_SANITIZED  // instrumentation makes the library's stack frames several times as large
TEST(LineMatcher, PlainPatternsTakeTheLongestLine) {
  const std::string line = std::string(LineMatcher::kLineLimitBytes - 10, 'a') + "step_ms=12";
  EXPECT_THAT(groups("^.*step_ms=([0-9]+).*$", line), ElementsAre("12"));
}
#endif

TEST(LineMatcher, DeepRecursionIsRefusedNotCrashedOn) {
  std::string nested = "(x)";
  for (int i = 0; i < 100; ++i) nested = "(" + nested + "|a)";
  const std::string line(1 << 20, 'a');
  for (const auto& pattern : {nested + "*", std::string("((((.|a)|b)|c)|d)*")}) {
    const auto found = LineMatcher::make(pattern).value().first_groups(line);
    if (!found) {
      EXPECT_EQ(found.error().message,
                "the regular expression takes too many nested calls (gave up in line 1); write it "
                "without nested repetitions");
    }
  }
  EXPECT_FALSE(LineMatcher::make(nested + "*").value().first_groups(line));
}

TEST(LineMatcher, PlainPatternsHaveStepsEnoughForLongOutput) {
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
    static_cast<void>(matcher->first_groups(mutated("step_ms=1.5 x\nsp_ms=2\n", random)));
  }
}

}  // namespace
}  // namespace hocket
