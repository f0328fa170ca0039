#include "profiler/formats/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

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

TEST(Perfetto, ShowsStepsAndJoinsThePartsOfOneCollective) {
  std::vector<RankTrace> traces(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    traces[rank].rank = static_cast<std::int64_t>(rank);
    traces[rank].names = {"gradient"};
    TraceRecord record;
    record.kind = TraceKind::communication;
    record.collective = CollectiveKind::all_reduce;
    record.begin_ns = 20 + traces[rank].rank;
    record.end_ns = 40;
    record.sequence = 6;
    traces[rank].records = {record};
    traces[rank].step_starts = {{3, 10}, {4, 50}, {5, 70}};
  }
  std::multiset<std::uint64_t> flows;
  std::multiset<std::string> steps;
  for (const auto& [uuid, track] : decoded(perfetto_of(traces))) {
    for (const DecodedSlice& slice : track.slices) {
      flows.insert(slice.flows.begin(), slice.flows.end());
      if (track.name == "steps") steps.insert(slice.name);
    }
  }
  EXPECT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows.count(*flows.begin()), 2U) << "one number on both ranks";
  EXPECT_EQ(steps, (std::multiset<std::string>{"step 3", "step 3", "step 4", "step 4"}));
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
