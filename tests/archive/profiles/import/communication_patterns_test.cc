#include "archive/profiles/import/communication_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TraceRecord record(TraceKind kind, std::uint32_t name, std::int32_t lane, std::int64_t step) {
  TraceRecord made;
  made.kind = kind;
  made.name = name;
  made.lane = lane;
  made.step = step;
  made.end_ns = 1;
  return made;
}

TEST(CommunicationPatterns, MatchingComputationBecomesCommunication) {
  RankTrace trace;
  trace.names = {"gemm", "my_all_reduce_v2", "my_exchange", "my_range"};
  trace.records = {record(TraceKind::compute, 0, 0, 3), record(TraceKind::compute, 1, 1, 3),
                   record(TraceKind::compute, 1, 1, 3), record(TraceKind::compute, 2, 1, 3),
                   record(TraceKind::range, 3, 0, 3),   record(TraceKind::communication, 0, 0, 3)};
  const auto patterns = CommunicationPatterns::compile({"^my_.*v2$", "exch", "none"});
  ASSERT_TRUE(patterns);
  EXPECT_THAT(patterns->mark(trace), ElementsAre(2, 1, 0));
  EXPECT_EQ(trace.records[0].kind, TraceKind::compute);
  EXPECT_EQ(trace.records[4].kind, TraceKind::range);
  EXPECT_EQ(trace.records[1].kind, TraceKind::communication);
  EXPECT_EQ(trace.records[1].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(trace.records[1].lane, 1) << "behind the channel that there is";
  EXPECT_EQ(trace.groups.at(0).name, "--communication");
  EXPECT_EQ(trace.records[2].sequence, trace.records[1].sequence + 1);
  EXPECT_EQ(trace.records[3].kind, TraceKind::communication);
  EXPECT_FALSE(trace.records[3].collective);
  EXPECT_EQ(trace.records[3].sequence, kNoSequence);
}

TEST(CommunicationPatterns, PatternsAreCheckedAndBounded) {
  const auto refused = [](const std::vector<std::string>& patterns) {
    const auto compiled = CommunicationPatterns::compile(patterns);
    return compiled ? std::string() : compiled.error().message;
  };
  EXPECT_THAT(refused({"good", "(bad"}), HasSubstr("--communication \"(bad\": missing )"));
  EXPECT_THAT(refused({""}), HasSubstr("found 0"));
  EXPECT_THAT(refused({std::string(1001, 'a')}), HasSubstr("found 1001"));
  EXPECT_THAT(refused({"a*"}), HasSubstr("matches every name"));
  EXPECT_THAT(refused({"(((a{100}){100}){100})"}), HasSubstr("--communication"));
  EXPECT_THAT(refused(std::vector<std::string>(33, "a")), HasSubstr("at most 32"));
  EXPECT_EQ(refused({"a|b", "^moe_(dispatch|combine)"}), "");
}

}  // namespace
}  // namespace hocket
