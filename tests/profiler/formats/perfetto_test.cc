#include "profiler/formats/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "core/base/intervals.h"
#include "tests/profiler/formats/perfetto_decoder.h"
#include "tests/profiler/formats/perfetto_slices.h"
#include "tests/profiler/formats/random_trace.h"

namespace hocket {
namespace {

std::string perfetto_of(const std::vector<RankTrace>& traces, std::vector<ClockFit> fits = {}) {
  fits.resize(traces.size());
  std::ostringstream out;
  EXPECT_TRUE(write_perfetto(out, traces, fits));
  return out.str();
}

DecodedTracks decoded(const std::string& bytes) {
  std::string problem;
  auto tracks = decode_perfetto(bytes, problem);
  EXPECT_TRUE(tracks) << problem;
  return tracks.value_or(DecodedTracks{});
}

TEST(Perfetto, AnIndependentReaderFindsEveryRecordOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<RankTrace> traces;
    const auto ranks = static_cast<std::int64_t>(1 + random() % 3);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      traces.push_back(random_trace(rank, ranks, random));
    }
    const std::string bytes = perfetto_of(traces);
    const DecodedTracks tracks = decoded(bytes);
    std::multiset<ComparedSlice> expected;
    for (const RankTrace& trace : traces) {
      for (const TraceRecord& record : trace.records) expected.insert(compared(trace, record));
    }
    ASSERT_EQ(slices_of(tracks), expected);
    EXPECT_EQ(perfetto_of(traces), bytes) << "equal input gives equal output";
  }
}

TEST(Perfetto, SlicesOfOneTrackAreDisjointOrOfHostThreadsNest) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (const auto& [uuid, track] : decoded(perfetto_of({random_trace(0, 1, random)}))) {
      for (const DecodedSlice& a : track.slices) {
        const bool is_host = a.category == "range" || a.category == "call";
        EXPECT_TRUE(is_host || a.depth == 0) << track.name;
        for (const DecodedSlice& b : track.slices) {
          const bool disjoint = a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns;
          const bool nested = (a.begin_ns <= b.begin_ns && b.end_ns <= a.end_ns) ||
                              (b.begin_ns <= a.begin_ns && a.end_ns <= b.end_ns);
          EXPECT_TRUE(disjoint || nested) << track.name;
        }
      }
    }
  }
}

TEST(Perfetto, NestedRangesShareATrack) {
  RankTrace trace;
  trace.names = {"outer", "inner"};
  for (const auto& [begin_ns, end_ns] :
       std::vector<std::pair<int, int>>{{0, 100}, {10, 50}, {50, 100}}) {
    TraceRecord record;
    record.kind = TraceKind::range;
    record.name = begin_ns == 0 ? 0 : 1;
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    trace.records.push_back(record);
  }
  int tracks = 0;
  for (const auto& [uuid, track] : decoded(perfetto_of({trace}))) {
    if (track.slices.empty()) continue;
    ++tracks;
    ASSERT_EQ(track.slices.size(), 3U);
    EXPECT_EQ(track.slices[1].depth, 1U);
    EXPECT_EQ(track.slices[2].depth, 1U);
  }
  EXPECT_EQ(tracks, 1);
}

/// A part of an all-reduce of the ranks of `group`.
TraceRecord part(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t sequence,
                 std::int32_t group = kAllRanks) {
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = CollectiveKind::all_reduce;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  record.sequence = sequence;
  record.group = group;
  return record;
}

std::vector<ClockFit> known_clocks(std::size_t ranks) {
  std::vector<ClockFit> fits(ranks);
  for (ClockFit& fit : fits) fit.method = "exchange";
  if (!fits.empty()) fits[0].method = "own";
  return fits;
}

/// The slices with records of communication, by process.
std::map<std::string, std::vector<DecodedSlice>> parts_of(const DecodedTracks& tracks) {
  std::map<std::string, std::vector<DecodedSlice>> parts;
  for (const auto& [uuid, track] : tracks) {
    if (!track.name.starts_with("communication ")) continue;
    auto& of_process = parts[tracks.at(track.parent).process];
    of_process.insert(of_process.end(), track.slices.begin(), track.slices.end());
  }
  return parts;
}

TEST(Perfetto, ShowsStepsAndArrowsFromTheRankThatArrivedLast) {
  std::vector<RankTrace> traces(3);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    RankTrace& trace = traces[static_cast<std::size_t>(rank)];
    trace.rank = rank;
    trace.ranks = 3;
    trace.names = {"gradient"};
    trace.records = {part(rank == 1 ? 30 : 20 + rank, 40, 6)};
    trace.step_starts = {{3, 10}, {4, 50}, {5, 70}};
  }
  const DecodedTracks tracks = decoded(perfetto_of(traces, known_clocks(3)));
  std::multiset<std::string> steps;
  for (const auto& [uuid, track] : tracks) {
    if (track.name != "steps") continue;
    for (const DecodedSlice& slice : track.slices) steps.insert(slice.name);
  }
  EXPECT_EQ(steps, (std::multiset<std::string>{"step 3", "step 3", "step 3", "step 4", "step 4",
                                               "step 4"}));
  auto parts = parts_of(tracks);
  const DecodedSlice early = parts["rank 0"].at(0), last = parts["rank 1"].at(0),
                     other = parts["rank 2"].at(0);
  EXPECT_EQ(last.flows.size(), 2U);
  EXPECT_TRUE(last.terminating.empty());
  EXPECT_TRUE(early.flows.empty());
  ASSERT_EQ(early.terminating.size(), 1U);
  ASSERT_EQ(other.terminating.size(), 1U);
  EXPECT_NE(early.terminating, other.terminating);
  EXPECT_EQ(std::set(last.flows.begin(), last.flows.end()),
            (std::set{early.terminating[0], other.terminating[0]}));
  using Integers = std::map<std::string, std::int64_t>;
  EXPECT_EQ(early.integers, (Integers{{"sequence", 6},
                                      {"late_ns", 0},
                                      {"wait_ns", 10},
                                      {"waited_for_rank", 1},
                                      {"clock_error_ns", 0}}));
  EXPECT_EQ(last.integers.at("late_ns"), 10);
  EXPECT_EQ(last.integers.at("wait_ns"), 0);
  EXPECT_EQ(other.integers.at("wait_ns"), 8);
}

TEST(Perfetto, MarksExposedCommunicationAsTheMetricsCountIt) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const RankTrace trace = random_trace(0, 1, random);
    const auto intervals = [&](TraceKind kind) {
      std::vector<Interval> found;
      for (const TraceRecord& record : trace.records)
        if (record.kind == kind) found.push_back({record.begin_ns, record.end_ns});
      return union_of(std::move(found));
    };
    const auto busy = intervals(TraceKind::communication), compute = intervals(TraceKind::compute);
    std::vector<Interval> marked;
    for (const auto& [uuid, track] : decoded(perfetto_of({trace}))) {
      if (track.name != "exposed communication") continue;
      for (const DecodedSlice& slice : track.slices) {
        EXPECT_EQ(slice.category, "exposed");
        EXPECT_EQ(slice.depth, 0U);
        EXPECT_GT(slice.end_ns, slice.begin_ns);
        marked.push_back(
            {static_cast<std::int64_t>(slice.begin_ns), static_cast<std::int64_t>(slice.end_ns)});
        const bool is_caused = std::ranges::any_of(trace.records, [&](const TraceRecord& record) {
          return record.kind == TraceKind::communication &&
                 trace.names[record.name] == slice.name &&
                 record.begin_ns <= marked.back().begin_ns && marked.back().end_ns <= record.end_ns;
        });
        EXPECT_TRUE(is_caused) << slice.name;
      }
    }
    std::int64_t marked_ns = 0;
    for (const Interval& interval : marked) marked_ns += interval.end_ns - interval.begin_ns;
    EXPECT_EQ(marked_ns, length_ns(union_of(marked))) << "slices are disjoint";
    EXPECT_EQ(marked_ns, length_ns(busy) - length_ns(intersection_of(busy, compute)));
    EXPECT_EQ(length_ns(intersection_of(union_of(marked), compute)), 0);
  }
}

TEST(Perfetto, PutsAllRanksOnTheReferencesClock) {
  std::vector<RankTrace> traces(2);
  std::vector<ClockFit> fits(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    traces[rank].rank = static_cast<std::int64_t>(rank);
    traces[rank].names = {"task"};
    TraceRecord record;
    record.begin_ns = rank == 0 ? 1000 : 5000;
    record.end_ns = record.begin_ns + 500;
    traces[rank].records = {record};
  }
  const auto begins = [&] {
    std::map<std::string, std::uint64_t> found;
    const DecodedTracks tracks = decoded(perfetto_of(traces, fits));
    for (const auto& [uuid, track] : tracks) {
      for (const auto& slice : track.slices)
        found[tracks.at(track.parent).process] = slice.begin_ns;
    }
    return found;
  };
  fits[1].offset_ns = -4000;
  EXPECT_EQ(begins(), (std::map<std::string, std::uint64_t>{{"rank 0", 1000}, {"rank 1", 1000}}));
  fits[1].offset_ns = -7000;  // before 0, so all times are shifted
  EXPECT_EQ(begins(), (std::map<std::string, std::uint64_t>{{"rank 0", 3000}, {"rank 1", 0}}));
  fits[1] = {.reference_ns = 4000, .offset_ns = 0, .drift = 0.5, .method = "exchange"};
  EXPECT_EQ(begins().at("rank 1"), 5500U);
}

TEST(Perfetto, ReplacesWhatIsNoText) {
  RankTrace trace;
  trace.host = "no\xfftext";
  trace.names = {"a\xffz"};
  trace.records = {TraceRecord{}};
  trace.records[0].end_ns = 5;
  const DecodedTracks tracks = decoded(perfetto_of({trace}));
  EXPECT_EQ(std::get<5>(*slices_of(tracks).begin()), "a\xEF\xBF\xBDz");
}

TEST(Perfetto, SaysWhenItCouldNotBeWritten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const std::vector<RankTrace> traces(1);
  const std::vector<ClockFit> fits(1);
  const auto result = write_perfetto(out, traces, fits);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
