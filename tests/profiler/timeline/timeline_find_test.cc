#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "profiler/timeline/timeline.h"
#include "tests/profiler/timeline/random_profile.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// Begin and place of a match, which are its order.
using Match = std::pair<std::int64_t, RecordPlace>;

/// All matches of a lower-case text, in order.
std::vector<Match> matches_of(const std::vector<std::vector<RecordDetails>>& lanes,
                              const TimelineSearch& search) {
  std::vector<Match> matches;
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    for (std::uint32_t i = 0; i < lanes[lane].size(); ++i) {
      const RecordDetails& record = lanes[lane][i];
      if (search.kind && *search.kind != record.kind) continue;
      if (record.name.find(search.text) == std::string::npos) continue;
      matches.emplace_back(record.begin_ns, RecordPlace{lane, i});
    }
  }
  std::sort(matches.begin(), matches.end());
  return matches;
}

std::vector<Match> walked(const Timeline& timeline, TimelineSearch search, std::size_t expected) {
  std::vector<Match> walk;
  search.from_ns = search.backward ? std::numeric_limits<std::int64_t>::max() : 0;
  while (walk.size() <= expected) {
    const auto result = timeline.find(search);
    EXPECT_TRUE(result);
    if (!result) break;
    EXPECT_EQ(result->matches, static_cast<std::int64_t>(expected));
    if (!result->found) break;
    walk.emplace_back(result->found->begin_ns, result->found->place);
    search.from = result->found->place;
  }
  return walk;
}

TEST(TimelineFind, VisitsAllMatchesInOrder) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Timeline timeline = random_input(seed).timeline();
    const auto lanes = records_by_lane(timeline);
    for (const char* text : {"", "ward", "l-r", "mm<", "nowhere", "step 1"}) {
      for (const std::optional<LaneKind> kind :
           {std::optional<LaneKind>(), std::optional(LaneKind::communication),
            std::optional(LaneKind::exposed)}) {
        TimelineSearch search{text, kind};
        auto expected = matches_of(lanes, search);
        ASSERT_EQ(walked(timeline, search, expected.size()), expected) << text;
        std::reverse(expected.begin(), expected.end());
        search.backward = true;
        ASSERT_EQ(walked(timeline, search, expected.size()), expected) << text << " backward";
      }
    }
  }
}

TEST(TimelineFind, BeginsAtATimeOrAtAnyRecord) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Timeline timeline = random_input(seed).timeline();
    const auto lanes = records_by_lane(timeline);
    const auto all = matches_of(lanes, {""});
    if (all.empty()) continue;
    const auto matches = matches_of(lanes, {"ward"});
    std::mt19937_64 random(seed);
    for (int i = 0; i < 40; ++i) {
      TimelineSearch search{"ward"};
      search.backward = random() % 2 == 0;
      const Match& origin = all[random() % all.size()];
      search.from_ns = origin.first + static_cast<std::int64_t>(random() % 3) - 1;
      auto first = std::lower_bound(matches.begin(), matches.end(), Match{search.from_ns, {}});
      if (random() % 2 == 0) {
        search.from = origin.second;
        first = search.backward ? std::lower_bound(matches.begin(), matches.end(), origin)
                                : std::upper_bound(matches.begin(), matches.end(), origin);
      }
      const auto found = timeline.find(search)->found;
      const auto end = search.backward ? matches.begin() : matches.end();
      ASSERT_EQ(found.has_value(), first != end);
      if (!found) continue;
      const Match& expected = search.backward ? *(first - 1) : *first;
      ASSERT_EQ(Match(found->begin_ns, found->place), expected);
      const RecordDetails& record = lanes[found->place.lane][found->place.record];
      ASSERT_EQ(found->end_ns, record.end_ns);
      ASSERT_EQ(found->name, record.name);
    }
  }
}

TEST(TimelineFind, PassesOverWhatIsShorter) {
  for (std::uint64_t seed = 1; seed <= rounds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Timeline timeline = random_input(seed).timeline();
    const auto all = matches_of(records_by_lane(timeline), {});
    for (const std::int64_t least_ns : {1, 300, 100'000}) {
      std::vector<Match> expected;
      for (const Match& match : all) {
        const auto found = timeline.record(match.second.lane, match.second.record);
        if (found->end_ns - found->begin_ns >= least_ns) expected.push_back(match);
      }
      for (const bool backward : {false, true}) {
        TimelineSearch search{.backward = backward, .least_ns = least_ns};
        const auto walk = walked(timeline, search, all.size());
        EXPECT_EQ(walk, expected);
        std::ranges::reverse(expected);
      }
    }
  }
}

TEST(TimelineFind, IgnoresTheCaseOfLetters) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  trace.names = {"ncclDevKernel_AllReduce_Sum", "\xc3\x89tape", "[x]"};
  trace.records = {record_of(TraceKind::compute, 0, 1, 0, 0),
                   record_of(TraceKind::compute, 1, 2, 0, 1),
                   record_of(TraceKind::compute, 2, 3, 0, 2)};
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.find({"ALLreduce"})->matches, 1);
  EXPECT_EQ(timeline.find({"\xc3\x89TAPE"})->matches, 1);
  EXPECT_EQ(timeline.find({"{X"})->matches, 0);
  EXPECT_EQ(timeline.find({"sums"})->matches, 0);
}

TEST(TimelineFind, RefusesAnUnknownRecord) {
  const Timeline timeline = random_input(2).timeline();
  TimelineSearch search{""};
  search.from = RecordPlace{static_cast<std::uint32_t>(timeline.lanes().size()), 0};
  EXPECT_EQ(timeline.find(search).error().code, ErrorCode::not_found);
  search.from = RecordPlace{0, timeline.lanes()[0].records};
  EXPECT_EQ(timeline.find(search).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
