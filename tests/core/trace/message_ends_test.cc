#include "core/trace/message_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/group_names.h"
#include "core/trace/paired_collectives.h"
#include "core/trace/trace_builder.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

TraceRecord message(CollectiveKind kind, std::int32_t group, std::int64_t sequence = 0,
                    std::int64_t begin_ns = 0) {
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = kind;
  record.group = group;
  record.sequence = sequence;
  record.begin_ns = begin_ns;
  record.end_ns = begin_ns + 1;
  return record;
}

RankTrace trace_of(std::int64_t rank, std::vector<TraceGroup> groups) {
  RankTrace trace;
  trace.rank = rank;
  trace.ranks = 8;
  trace.groups = std::move(groups);
  return trace;
}

TEST(MessageEnds, AreToldByTheGroupAndTheKindOfARecord) {
  const RankTrace trace = trace_of(3, {message_group({3, 5}), message_group({5, 3})});
  EXPECT_EQ(message_ends(trace, message(CollectiveKind::send, 0)), (MessageEnds{3, 5}));
  EXPECT_EQ(message_ends(trace, message(CollectiveKind::receive, 1)), (MessageEnds{5, 3}));
  EXPECT_NE(trace.groups[0].name, trace.groups[1].name);
}

TEST(MessageEnds, AreNotToldByAGroupThatCannotBeThatOfAMessageOfTheRank) {
  const RankTrace trace = trace_of(3, {message_group({3, 5}),
                                       {"none", {}},
                                       {"own", {3, 3}},
                                       {"three", {3, 5, 7}},
                                       {"others", {5, 6}},
                                       {"negative", {-3, 5}}});
  for (const std::int32_t group : {kAllRanks, 1, 2, 3, 4, 5, 6, 1000})
    for (const CollectiveKind kind : {CollectiveKind::send, CollectiveKind::receive})
      EXPECT_FALSE(message_ends(trace, message(kind, group))) << group << to_string(kind);
  EXPECT_FALSE(message_ends(trace, message(CollectiveKind::receive, 0))) << "the other end";
  EXPECT_FALSE(message_ends(trace, message(CollectiveKind::all_reduce, 0)));
  EXPECT_FALSE(message_ends(trace, TraceRecord()));
}

TEST(MessageEnds, PairTheNthSendOfADirectionWithItsNthReceive) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const std::int64_t ranks = 2 + below(6);
    std::vector<TraceBuilder> builders(static_cast<std::size_t>(ranks));
    std::map<MessageEnds, std::vector<std::int64_t>> sent;  // bytes, in order
    for (std::int64_t i = 0; i < 60; ++i) {
      const MessageEnds ends{below(ranks), below(ranks)};
      if (ends.sender == ends.receiver) continue;
      sent[ends].push_back(i + 1);
      for (const bool is_send : {true, false}) {
        auto& builder = builders[static_cast<std::size_t>(is_send ? ends.sender : ends.receiver)];
        // A receive may begin long before its send, or after it has ended.
        auto record = message(is_send ? CollectiveKind::send : CollectiveKind::receive,
                              builder.group(ends), kNoSequence, 100 * i + below(50));
        record.bytes = i + 1;
        record.name = builder.names().number("message");
        builder.add(record);
      }
    }
    std::vector<RankTrace> traces;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      traces.push_back(trace_of(rank, {}));
      (void)builders[static_cast<std::size_t>(rank)].finish(traces.back(), {});
    }
    std::vector<RankTrace*> of_job;
    for (RankTrace& trace : traces) of_job.push_back(&trace);
    unify_group_names(of_job);
    const PairedCollectives paired(traces);
    std::map<MessageEnds, std::vector<std::int64_t>> found;
    for (std::size_t i = 0; i < paired.size(); ++i) {
      ASSERT_TRUE(paired.is_of_message(i));
      EXPECT_TRUE(paired.is_complete(i));
      EXPECT_TRUE(paired.is_alike(i));
      const std::size_t trace = paired.groups()[paired[i].group].traces[0];
      const auto ends = message_ends(traces[trace], *paired[i].parts[0]);
      ASSERT_TRUE(ends);
      found[*ends].push_back(paired[i].parts[0]->bytes);
    }
    EXPECT_EQ(found, sent);
  }
}

TEST(MessageEnds, KeepMessagesOutOfPairsWhereTheyAreNotKnown) {
  std::vector<RankTrace> traces{trace_of(0, {{"pipeline", {0, 1}}, message_group({0, 1})}),
                                trace_of(1, {{"pipeline", {0, 1}}, message_group({0, 1})})};
  traces[0].records = {message(CollectiveKind::send, kAllRanks, 1),
                       message(CollectiveKind::receive, 0, 2), message(CollectiveKind::send, 1, 3)};
  traces[1].records = {message(CollectiveKind::receive, kAllRanks, 1),
                       message(CollectiveKind::send, 0, 2), message(CollectiveKind::send, 1, 3)};
  EXPECT_FALSE(is_part(traces[0], traces[0].records[0]));
  EXPECT_TRUE(is_part(traces[0], traces[0].records[2]));
  const PairedCollectives paired(traces);
  ASSERT_EQ(paired.size(), 1U) << "of the last, the receiver's part is no receive";
  EXPECT_FALSE(paired.is_complete(0));
}

TEST(MessageEnds, TwoSendsAreNotAlike) {
  // A file may give both directions one name.
  std::vector<RankTrace> traces{trace_of(0, {{"x", {0, 1}}}), trace_of(1, {{"x", {1, 0}}})};
  for (RankTrace& trace : traces) trace.records = {message(CollectiveKind::send, 0)};
  const PairedCollectives paired(traces);
  ASSERT_EQ(paired.size(), 1U);
  EXPECT_TRUE(paired.is_of_message(0));
  EXPECT_FALSE(paired.is_alike(0));
}

TEST(MessageEnds, GroupsOfMessagesDoNotKeepOthersFromOneName) {
  std::vector<RankTrace> traces{trace_of(0, {{"7", {0, 1}}, message_group({0, 1})}),
                                trace_of(1, {{"9", {0, 1}}})};
  for (RankTrace& trace : traces) {
    trace.records = {message(CollectiveKind::all_reduce, 0)};
    trace.records.back().bytes = 10 + trace.rank;
  }
  traces[0].records.push_back(message(CollectiveKind::send, 1));
  RankTrace* const of_job[] = {&traces[0], &traces[1]};
  unify_group_names(of_job);
  EXPECT_EQ(traces[1].groups[0].name, "7");
  EXPECT_EQ(traces[0].groups[1], message_group({0, 1}));
}

}  // namespace
}  // namespace hocket
