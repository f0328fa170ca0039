#include "core/trace/paired_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hocket {
namespace {

using ::testing::ElementsAre;

TraceRecord part(std::int64_t sequence, std::int32_t group, std::int64_t begin_ns = 0) {
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = CollectiveKind::all_reduce;
  record.sequence = sequence;
  record.group = group;
  record.begin_ns = begin_ns;
  record.end_ns = begin_ns + 1;
  return record;
}

std::vector<RankTrace> bare(std::int64_t ranks) {
  std::vector<RankTrace> traces(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    traces[static_cast<std::size_t>(rank)].rank = rank;
    traces[static_cast<std::size_t>(rank)].ranks = ranks;
  }
  return traces;
}

/// Returns the ranks that each collective pairs, by the name of its group and its sequence.
std::map<std::pair<std::string, std::int64_t>, std::multiset<std::vector<std::int64_t>>> paired_of(
    const std::vector<RankTrace>& traces) {
  const PairedCollectives paired(traces);
  std::map<std::pair<std::string, std::int64_t>, std::multiset<std::vector<std::int64_t>>> found;
  for (std::size_t i = 0; i < paired.size(); ++i) {
    const PairedCollective collective = paired[i];
    const MemberGroup& group = paired.groups()[collective.group];
    std::vector<std::int64_t> ranks;
    for (std::size_t m = 0; m < collective.parts.size(); ++m)
      if (collective.parts[m]) ranks.push_back(traces[group.traces[m]].rank);
    found[{group.name, collective.sequence}].insert(std::move(ranks));
  }
  return found;
}

TEST(PairedCollectives, RowsOfOneNameAreToldApartByTheirRanks) {
  auto traces = bare(4);
  for (RankTrace& trace : traces) {
    const std::int64_t row = trace.rank / 2;
    trace.groups = {{"row", {2 * row + 1, 2 * row}}, {"all", {0, 1, 2, 3}}};
    trace.records = {part(7, 0), part(7, 1), part(7, kAllRanks)};
  }
  const auto found = paired_of(traces);
  EXPECT_THAT(found.at({"row", 7}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(found.at({"all", 7}), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(found.at({"", 7}), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(PairedCollectives, ATraceThatDoesNotSayTheRanksIsOfTheKnownGroup) {
  auto traces = bare(4);
  for (RankTrace& trace : traces) {
    trace.groups = {{"row", {}}};
    if (trace.rank == 1) trace.groups[0].ranks = {0, 1};
    if (trace.rank == 2) trace.groups[0].ranks = {2, 3};
    trace.records = {part(1, 0)};
  }
  EXPECT_THAT(paired_of(traces).at({"row", 1}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(PairedCollectives, AGroupOfWhichARankHasNoTraceIsNeverComplete) {
  auto traces = bare(3);
  traces.pop_back();
  for (RankTrace& trace : traces) {
    trace.groups = {{"pair", {0, 1}}, {"three", {0, 1, 2}}};
    trace.records = {part(1, 0), part(1, 1), part(1, kAllRanks)};
  }
  const PairedCollectives paired(traces);
  for (std::size_t i = 0; i < paired.size(); ++i)
    EXPECT_EQ(paired.is_complete(i), paired.groups()[paired[i].group].name == "pair");
}

TEST(PairedCollectives, TheFirstOfSeveralCountsAndUnlikePartsAreTold) {
  auto traces = bare(2);
  traces[0].records = {part(1, kAllRanks, 50), part(1, kAllRanks, 10), part(2, kAllRanks)};
  traces[1].records = {part(1, kAllRanks, 20), part(2, kAllRanks), part(3, kAllRanks)};
  traces[1].records[1].bytes = 5;
  traces[1].records.push_back(part(kNoSequence, kAllRanks));
  const PairedCollectives paired(traces);
  ASSERT_EQ(paired.size(), 3U);
  EXPECT_EQ(paired[0].parts[0]->begin_ns, 10);
  EXPECT_TRUE(paired.is_alike(0));
  EXPECT_FALSE(paired.is_alike(1));
  EXPECT_TRUE(paired.is_complete(1));
  EXPECT_FALSE(paired.is_complete(2));
}

TEST(PairedCollectives, AgreeWithASearchOfRandomTraces) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::int64_t>(1 + random() % 6);
    auto traces = bare(ranks);
    std::map<std::pair<std::string, std::int64_t>, std::multiset<std::vector<std::int64_t>>> expect;
    for (RankTrace& trace : traces) {
      std::vector<std::int64_t> half;
      for (std::int64_t r = 0; r < ranks; ++r)
        if (r % 2 == trace.rank % 2) half.push_back(r);
      trace.groups = {{"half", half}};
    }
    for (std::int64_t sequence = 0; sequence < 8; ++sequence) {
      std::map<std::int64_t, std::vector<std::int64_t>> halves;
      std::vector<std::int64_t> all;
      for (RankTrace& trace : traces) {
        if (random() % 4 != 0) {
          trace.records.push_back(part(sequence, 0));
          halves[trace.rank % 2].push_back(trace.rank);
        }
        if (random() % 4 != 0) {
          trace.records.push_back(part(sequence, kAllRanks));
          all.push_back(trace.rank);
        }
      }
      for (const auto& [side, members] : halves) expect[{"half", sequence}].insert(members);
      if (!all.empty()) expect[{"", sequence}].insert(all);
    }
    EXPECT_EQ(paired_of(traces), expect);
  }
}

TEST(PairedCollectives, NoTracesAreNoCollectives) {
  EXPECT_EQ(PairedCollectives({}).size(), 0U);
}

}  // namespace
}  // namespace hocket
