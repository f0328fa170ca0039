#include "tuner/trial/limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

std::string problem_of(const std::string& text, const TrialEvidence& evidence,
                       std::size_t skip = 0) {
  return limit_problem(parse_limit(text).value(), skip, evidence).value_or("within");
}

TEST(MetricLimit, ReadsAnObjectiveAndItsBound) {
  EXPECT_EQ(parse_limit("memory<=4G"), (MetricLimit{{ObjectiveKind::memory, ""}, 0x1p32}));
  EXPECT_EQ(parse_limit("wall<=60s"), (MetricLimit{{ObjectiveKind::wall, ""}, 60e9}));
  EXPECT_EQ(parse_limit("report<=1500"), (MetricLimit{{ObjectiveKind::report, ""}, 1500}));
  EXPECT_EQ(parse_limit("regex:(a<=[0-9]+)<=3.5"),
            (MetricLimit{{ObjectiveKind::regex, "(a<=[0-9]+)"}, 3.5}));
  EXPECT_EQ(parse_limit("file:x<=y<=0"), (MetricLimit{{ObjectiveKind::file, "x<=y"}, 0}));
  EXPECT_EQ(parse_limit("regex:(a<=[0-9]+)>=3.5"),
            (MetricLimit{{ObjectiveKind::regex, "(a<=[0-9]+)"}, 3.5, true}));
  EXPECT_EQ(readable(*parse_limit("speed[tokens/s]=regex:t=(.)>=9")), "speed>=9 tokens/s");
}

TEST(MetricLimit, RefusesOtherText) {
  const auto refusal = [](const char* text) {
    const auto limit = parse_limit(text);
    return limit ? std::string("accepted") : limit.error().message;
  };
  EXPECT_EQ(refusal("memory=4G"),
            "limit \"memory=4G\": expected OBJECTIVE<=NUMBER, OBJECTIVE>=NUMBER or never:PATTERN, "
            "such as memory<=4G, regex:tok/s=([0-9.]+)>=900 or never:out of memory");
  EXPECT_THAT(refusal("max:regex:t=(.)>=1"), HasSubstr("a limit has no max:"));
  EXPECT_THAT(refusal("memory>4G"), HasSubstr("expected OBJECTIVE<=NUMBER"));
  EXPECT_EQ(refusal("memory<=4s"),
            "limit \"memory<=4s\": expected a number of bytes such as 65536, 512M, 4GiB or 100MB, "
            "at least "
            "0, found \"4s\"");
  EXPECT_THAT(refusal("speed<=1"), HasSubstr("found \"speed\""));
  EXPECT_THAT(refusal("auto<=1"), HasSubstr("name wall or report"));
  EXPECT_THAT(refusal("wall<=-1"), HasSubstr("at least 0, found \"-1\""));
  EXPECT_THAT(refusal("regex:loss<=3"), HasSubstr("has no group"));
  EXPECT_THAT(refusal("<="), HasSubstr("found \"\""));
  EXPECT_THAT(refusal(""), HasSubstr("expected OBJECTIVE<=NUMBER"));
}

TEST(MetricLimit, MutatedTextIsRefusedOrComesBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const auto limit = parse_limit(mutate("regex:l=([0-9.]+)<=3.5e1", random));
    if (!limit) continue;
    EXPECT_EQ(parse_limit(to_text(*limit)), *limit) << to_text(*limit);
  }
  for (const char* text : {"speed[tokens/s]=file:x>=3tokens/s", "memory>=1K", "memory<=0.1G",
                           "wall<=1e300", "report<=1us", "file:x<=123456789"}) {
    const auto limit = parse_limit(text);
    ASSERT_TRUE(limit) << text;
    EXPECT_EQ(parse_limit(to_text(*limit)), *limit) << to_text(*limit);
  }
}

TEST(MetricLimit, SaysWhatIsOverIt) {
  TrialEvidence evidence;
  evidence.peak_memory_bytes = std::int64_t{5} << 30;
  evidence.wall_ns = 61'000'000'000;
  evidence.stdout_text = "loss=9\nloss=4\n";
  EXPECT_EQ(problem_of("memory<=4G", evidence), "peak memory 5 GiB is over the limit of 4 GiB");
  EXPECT_EQ(problem_of("memory<=5G", evidence), "within");
  EXPECT_EQ(problem_of("wall<=60s", evidence), "wall time 61 s is over the limit of 60 s");
  EXPECT_EQ(problem_of("regex:loss=(.)<=3.5", evidence, 1),
            "regex:loss=(.) 4 is over the limit of 3.5");
  EXPECT_EQ(problem_of("regex:loss=(.)<=4", evidence, 1), "within");
  EXPECT_EQ(problem_of("regex:loss=(.)>=4", evidence, 1), "within");
  EXPECT_EQ(problem_of("speed[tokens/s]=regex:loss=(.)>=5", evidence, 1),
            "speed 4 tokens/s is under the limit of 5 tokens/s");
}

TEST(MetricLimit, WhatMustNeverOccurIsLookedForInBothStreams) {
  TrialEvidence evidence;
  evidence.stdout_text = "step 1\nloss=3<=5\n";
  evidence.stderr_text = "RuntimeError: \x1b[31mCUDA out of memory\x1b[0m.\n";
  EXPECT_EQ(problem_of("never:CUDA out of memory", evidence),
            "it printed \"CUDA out of memory\", which must never occur");
  EXPECT_EQ(problem_of("never:(?i)OUT OF (memory|disk)", evidence),
            "it printed \"out of memory\", which must never occur");
  EXPECT_EQ(problem_of("never:loss=[0-9]<=5", evidence),
            "it printed \"loss=3<=5\", which must never occur");
  EXPECT_EQ(problem_of("never:out of disk", evidence), "within");
  EXPECT_EQ(readable(*parse_limit("never:a")), "never:a");
  EXPECT_EQ(to_text(*parse_limit("never:(a)<=1")), "never:(a)<=1");
  EXPECT_FALSE(parse_limit("never:"));
  EXPECT_FALSE(parse_limit("never:(a"));
}

TEST(MetricLimit, WhatWasNotMeasuredIsNotWithin) {
  EXPECT_EQ(problem_of("regex:x=(.)<=1", TrialEvidence{}),
            "limit regex:x=(.)<=1: no match of x=(.): the command printed nothing");
  EXPECT_EQ(problem_of("report<=1ms", TrialEvidence{}),
            "limit report<=1 ms: the job wrote no report to the file that HOCKET_REPORT names");
}

}  // namespace
}  // namespace hocket
