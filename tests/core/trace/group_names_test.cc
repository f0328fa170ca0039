#include "core/trace/group_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/trace/paired_collectives.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

TraceRecord part(std::int32_t group, CollectiveKind kind, std::int64_t bytes,
                 std::int64_t sequence) {
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = kind;
  record.group = group;
  record.bytes = bytes;
  record.sequence = sequence;
  record.end_ns = 1;
  return record;
}

RankTrace trace_of(std::int64_t rank, std::vector<TraceGroup> groups,
                   std::vector<TraceRecord> records) {
  RankTrace trace;
  trace.rank = rank;
  trace.ranks = 4;
  trace.groups = std::move(groups);
  trace.records = std::move(records);
  return trace;
}

void unify(std::vector<RankTrace>& traces) {
  std::vector<RankTrace*> pointers;
  for (RankTrace& trace : traces) pointers.push_back(&trace);
  unify_group_names(pointers);
}

std::vector<std::string> names_of(const RankTrace& trace) {
  std::vector<std::string> names;
  for (const TraceGroup& group : trace.groups) names.push_back(group.name);
  return names;
}

constexpr auto kReduce = CollectiveKind::all_reduce;
constexpr auto kGather = CollectiveKind::all_gather;

TEST(GroupNames, OneGroupWithTwoNamesIsPairedByItsRanks) {
  std::vector<RankTrace> traces{trace_of(0, {{"3", {0, 1}}}, {part(0, kReduce, 8, 5)}),
                                trace_of(1, {{"7", {0, 1}}}, {part(0, kReduce, 8, 5)}),
                                trace_of(2, {{"7", {2, 3}}}, {part(0, kReduce, 8, 5)}),
                                trace_of(3, {{"9", {2, 3}}}, {part(0, kReduce, 8, 5)})};
  unify(traces);
  EXPECT_THAT(names_of(traces[0]), ElementsAre("3"));
  EXPECT_THAT(names_of(traces[1]), ElementsAre("3"));
  EXPECT_THAT(names_of(traces[3]), ElementsAre("7"));
  const PairedCollectives paired(traces);
  ASSERT_EQ(paired.size(), 2U);
  EXPECT_TRUE(paired.is_complete(0));
  EXPECT_TRUE(paired.is_complete(1));
}

TEST(GroupNames, NamesThatAllHaveStayAndTheOthersArePaired) {
  std::vector<RankTrace> traces{trace_of(0, {{"world", {0, 1}}, {"3", {0, 1}}},
                                         {part(0, kReduce, 8, 1), part(1, kReduce, 8, 1)}),
                                trace_of(1, {{"4", {0, 1}}, {"world", {0, 1}}},
                                         {part(0, kReduce, 8, 1), part(1, kReduce, 8, 1)})};
  unify(traces);
  EXPECT_THAT(names_of(traces[1]), ElementsAre("3", "world"));
}

TEST(GroupNames, SeveralGroupsOfTheSameRanksAreToldApartByTheirCollectives) {
  std::vector<RankTrace> traces{
      trace_of(0, {{"3", {0, 1}}, {"5", {0, 1}}}, {part(0, kReduce, 8, 1), part(1, kGather, 8, 1)}),
      trace_of(1, {{"6", {0, 1}}, {"4", {0, 1}}},
               {part(0, kGather, 8, 1), part(1, kReduce, 8, 1)})};
  unify(traces);
  EXPECT_THAT(names_of(traces[1]), ElementsAre("5", "3"));
}

TEST(GroupNames, GroupsThatNothingTellsApartKeepTheirNames) {
  std::vector<RankTrace> traces{
      trace_of(0, {{"3", {0, 1}}, {"5", {0, 1}}}, {part(0, kReduce, 8, 1), part(1, kReduce, 8, 1)}),
      trace_of(1, {{"6", {0, 1}}, {"4", {0, 1}}},
               {part(0, kReduce, 8, 1), part(1, kReduce, 8, 1)})};
  unify(traces);
  EXPECT_THAT(names_of(traces[1]), ElementsAre("6", "4"));
}

TEST(GroupNames, GroupsThatDoOtherThingsOrDoNotSayTheirRanksKeepTheirNames) {
  std::vector<RankTrace> traces{trace_of(0, {{"3", {0, 1}}, {"a", {}}}, {part(0, kReduce, 8, 1)}),
                                trace_of(1, {{"6", {0, 1}}, {"b", {}}}, {part(0, kGather, 8, 1)})};
  unify(traces);
  EXPECT_THAT(names_of(traces[1]), ElementsAre("6", "b"));
}

}  // namespace
}  // namespace hocket
