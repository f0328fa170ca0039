#include "tuner/search/stop_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(StopRule, ThreeSuggestionsInARowThatExpectLittle) {
  const auto rule = expected_improvement_rule();
  EXPECT_FALSE(rule->reason({}));
  EXPECT_FALSE(rule->reason({.expected_improvements = {0.001, 0.001}}));
  EXPECT_FALSE(rule->reason({.expected_improvements = {0.001, 0.02, 0.001}}));
  EXPECT_FALSE(rule->reason({.expected_improvements = {0.001, 0.001, 0.001, 0.01}}));
  EXPECT_THAT(rule->reason({.expected_improvements = {0.5, 0.001, 0.009, 0.001}}).value(),
              HasSubstr("0.9 %"));
}

TEST(StopRule, LessLeftToGainThanNoise) {
  const auto rule = regret_rule();
  EXPECT_FALSE(rule->reason({.regret_bound = 0.001}));
  EXPECT_FALSE(rule->reason({.noise = 0.02}));
  EXPECT_FALSE(rule->reason({.regret_bound = 0, .noise = 0})) << "no noise was measured";
  EXPECT_FALSE(rule->reason({.regret_bound = 0.03, .noise = 0.02}));
  EXPECT_THAT(rule->reason({.regret_bound = 0.01, .noise = 0.02}).value(), HasSubstr("2.0 %"));
}

TEST(StopRule, NothingExposed) {
  const auto rule = overlap_rule();
  EXPECT_FALSE(rule->reason({}));
  EXPECT_FALSE(rule->reason({.exposed = 0.02}));
  EXPECT_THAT(rule->reason({.exposed = 0.001}).value(), HasSubstr("exposes no communication"));
}

TEST(StopRule, AllOfThemAreAsked) {
  EXPECT_EQ(stop_rules().size(), 3u);
}

}  // namespace
}  // namespace hocket
