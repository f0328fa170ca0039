#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/base/intervals.h"
#include "profiler/timeline/timeline.h"
#include "tests/profiler/timeline/random_profile.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

/// The records that a range is measured from, cut to it.
struct Cut {
  std::map<std::pair<std::int64_t, LaneKind>, std::vector<Interval>> by_rank;
  std::map<std::pair<LaneKind, std::string>, std::pair<std::int64_t, std::int64_t>> by_name;
  std::map<std::int64_t, std::int64_t> records;

  Cut(const std::vector<std::vector<RecordDetails>>& lanes, const Interval& range) {
    for (const auto& lane : lanes) {
      for (const RecordDetails& r : lane) {
        const bool is_inside = r.begin_ns < range.end_ns &&
                               (r.end_ns > range.begin_ns || r.begin_ns >= range.begin_ns);
        if (!is_own(r.kind) || !is_inside) continue;
        const Interval cut{std::max(r.begin_ns, range.begin_ns), std::min(r.end_ns, range.end_ns)};
        by_rank[{r.rank, r.kind}].push_back(cut);
        auto& [count, busy_ns] = by_name[{r.kind, r.name}];
        ++count;
        busy_ns += cut.end_ns - cut.begin_ns;
        ++records[r.rank];
      }
    }
  }

  std::int64_t length_of(std::int64_t rank, std::initializer_list<LaneKind> kinds) {
    std::vector<Interval> all;
    for (const LaneKind kind : kinds) {
      const auto& of_kind = by_rank[{rank, kind}];
      all.insert(all.end(), of_kind.begin(), of_kind.end());
    }
    return length_ns(union_of(all));
  }
};

void expect_figures(const Timeline& timeline, const std::vector<std::vector<RecordDetails>>& lanes,
                    const Interval& range) {
  SCOPED_TRACE(std::to_string(range.begin_ns) + " to " + std::to_string(range.end_ns));
  constexpr LaneKind kC = LaneKind::compute, kM = LaneKind::communication, kP = LaneKind::copy;
  Cut cut(lanes, range);
  const auto figures = timeline.range(range.begin_ns, range.end_ns);
  ASSERT_TRUE(figures);
  ASSERT_EQ(figures->ranks.size(), timeline.ranks().size());
  for (const RankFigures& rank : figures->ranks) {
    const std::int64_t compute_ns = cut.length_of(rank.rank, {kC});
    EXPECT_EQ(rank.compute_ns, compute_ns);
    EXPECT_EQ(rank.communication_ns, cut.length_of(rank.rank, {kM}));
    EXPECT_EQ(rank.exposed_ns, cut.length_of(rank.rank, {kC, kM}) - compute_ns);
    EXPECT_EQ(rank.copy_ns, cut.length_of(rank.rank, {kP}));
    const std::int64_t busy_ns = cut.length_of(rank.rank, {kC, kM, kP});
    if (rank.idle_ns) {
      EXPECT_EQ(*rank.idle_ns, range.end_ns - range.begin_ns - busy_ns);
    } else {
      EXPECT_EQ(busy_ns, 0) << "nothing of the rank is known as work";
    }
    EXPECT_EQ(rank.records, cut.records[rank.rank]);
  }
  ASSERT_EQ(figures->top.size(), std::min<std::size_t>(cut.by_name.size(), kMaxTopNames));
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
  for (const NameFigures& name : figures->top) {
    const auto expected = cut.by_name.at({name.kind, name.name});
    EXPECT_EQ(std::pair(name.records, name.busy_ns), expected);
    EXPECT_LE(name.busy_ns, last_ns);
    last_ns = name.busy_ns;
    cut.by_name.erase({name.kind, name.name});
  }
  for (const auto& [name, sums] : cut.by_name) EXPECT_LE(sums.second, last_ns) << "is missing";
}

TEST(TimelineRange, IsMeasuredAsFromItsRecords) {
  for (std::uint64_t seed = 1; seed <= rounds(150); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Timeline timeline = random_input(seed).timeline();
    const auto lanes = records_by_lane(timeline);
    std::mt19937_64 random(seed);
    expect_figures(timeline, lanes, {0, timeline.end_ns()});
    for (int i = 0; i < 10; ++i) {
      const auto at = [&] {
        return static_cast<std::int64_t>(random() %
                                         static_cast<std::uint64_t>(timeline.end_ns() + 1));
      };
      const auto [begin_ns, end_ns] = std::minmax({at(), at()});
      expect_figures(timeline, lanes, {begin_ns, end_ns});
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TimelineRange, IsCutToTheAxis) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 100, 150),
                          record_of(TraceKind::copy, 140, 170)};
  const auto figures = input.timeline().range(-1000, 1000);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->begin_ns, 0);
  EXPECT_EQ(figures->end_ns, 70);
  EXPECT_EQ(figures->ranks[0].compute_ns, 50);
  EXPECT_EQ(figures->ranks[0].copy_ns, 30);
  EXPECT_EQ(figures->ranks[0].idle_ns, 0);
  const auto outside = input.timeline().range(1000, 2000);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->ranks[0].idle_ns, 0);
}

TEST(TimelineRange, HasTheLongestNames) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  trace.names.clear();
  for (std::uint32_t i = 0; i < 30; ++i) {
    trace.names.push_back("name " + std::to_string(i));
    trace.records.push_back(record_of(TraceKind::compute, 1000 * i, 1000 * i + i, 0, i));
  }
  const auto figures = input.timeline().range(0, 100'000);
  ASSERT_EQ(figures->top.size(), 20u);
  EXPECT_EQ(figures->top.front().name, "name 29");
  EXPECT_EQ(figures->top.back().name, "name 10");
}

TEST(TimelineRange, MustNotEndBeforeItBegins) {
  const auto figures = random_input(1).timeline().range(5, 4);
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(figures.error().message, "a range must not end before it begins: from 5 to 4");
}

}  // namespace
}  // namespace hocket
