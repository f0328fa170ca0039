#include "archive/profiles/report/trace_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "archive/profiles/traces/imported_traces.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::int64_t kMs = 1'000'000;

/// Parts of an iteration of 100 ms, which begins with computation.
struct Iteration {
  std::int64_t compute_ms = 60;
  std::int64_t parts = 1, part_ms = 20;  ///< of communication, one after the other
  std::int64_t overlap_ms = 5;           ///< of the first part with computation
  std::int64_t part_bytes = 8 << 20;
  std::int64_t late_ms = 0;  ///< after which the iteration's computation begins
};

RankTrace trace_of(std::int64_t rank, std::int64_t ranks, const Iteration& it,
                   std::int64_t steps = 6) {
  RankTrace trace;
  trace.rank = rank;
  trace.ranks = ranks;
  trace.source = "kineto";
  trace.names = {"kernel", "allreduce"};
  std::int64_t sequence = 0;
  for (std::int64_t step = 0; step <= steps; ++step) {
    const std::int64_t begin = step * 100 * kMs;
    trace.step_starts.push_back({step, begin});
    if (step == steps) break;
    TraceRecord compute;
    compute.begin_ns = begin;
    compute.end_ns = begin + (it.compute_ms + it.late_ms) * kMs;
    compute.step = step;
    trace.records.push_back(compute);
    for (std::int64_t part = 0; part < it.parts; ++part) {
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = CollectiveKind::all_reduce;
      record.name = 1;
      record.begin_ns = compute.end_ns + (part * it.part_ms - it.overlap_ms) * kMs;
      record.end_ns = record.begin_ns + it.part_ms * kMs;
      record.step = step;
      record.bytes = it.part_bytes;
      record.sequence = sequence++;
      trace.records.push_back(record);
    }
  }
  put_in_order(trace);
  return trace;
}

TEST(TraceReport, SaysWhereAnIterationGoes) {
  const auto report = report_traces({trace_of(0, 1, {})}, {"a note"});
  ASSERT_THAT(report.ranks, SizeIs(1));
  const RankReport& rank = report.ranks[0];
  EXPECT_EQ(rank.iterations, 6);
  EXPECT_EQ(rank.iteration_ns, 100 * kMs);
  EXPECT_EQ(rank.spread_ns, 0);
  EXPECT_EQ(rank.compute_ns, 60 * kMs);
  EXPECT_EQ(rank.communication_ns, 20 * kMs);
  EXPECT_EQ(rank.exposed_ns, 15 * kMs);
  EXPECT_EQ(rank.idle_ns, 25 * kMs);
  ASSERT_THAT(report.collectives, SizeIs(1));
  EXPECT_EQ(report.collectives[0], (CollectiveReport{"allreduce", "", CollectiveKind::all_reduce, 1,
                                                     8 << 20, 20 * kMs, 15 * kMs}));
  EXPECT_FALSE(report.stragglers) << "there is nobody to wait for";
  EXPECT_THAT(report.notes, ElementsAre("a note"));
  EXPECT_EQ(to_json(report)["ranks"][0]["exposed_ns"], 15 * kMs);
}

TEST(TraceReport, AdvisesByWhatIsExposed) {
  const auto advice = [](const Iteration& it) {
    return report_traces({trace_of(0, 1, it)}, {}).advice;
  };
  EXPECT_THAT(advice({.parts = 10, .part_ms = 3, .part_bytes = 1000}),
              Contains(HasSubstr("fewer, larger ones")));
  EXPECT_THAT(advice({.overlap_ms = 0}), Contains(HasSubstr("next to none runs beside")));
  EXPECT_THAT(advice({}), Contains(HasSubstr("100.0 % of it in allreduce")));
  const auto hidden = advice({.compute_ms = 99, .overlap_ms = 30});
  EXPECT_THAT(hidden, Contains(HasSubstr("hidden behind computation")));
  EXPECT_THAT(hidden, Not(Contains(HasSubstr("nothing runs for"))));
  EXPECT_THAT(advice({.compute_ms = 30}), Contains(HasSubstr("the trace does not say why")));
}

TEST(TraceReport, ATraceWithoutStepsIsReportedAsAWhole) {
  RankTrace trace = trace_of(0, 1, {});
  trace.step_starts.clear();
  const auto report = report_traces({trace}, {});
  EXPECT_TRUE(report.is_of_whole_trace);
  EXPECT_EQ(report.ranks[0].compute_ns, 360 * kMs);
  EXPECT_EQ(report.collectives[0].per_iteration, 6);
  EXPECT_THAT(report.notes, Contains(HasSubstr("no iteration is whole")));
  EXPECT_THAT(report.advice, Contains(HasSubstr("--step-range")));
  EXPECT_THAT(report.advice, Contains(HasSubstr("of the trace is communication")));
  EXPECT_THAT(report.advice, Not(Contains(HasSubstr("of an iteration"))));
  trace.records.clear();
  const auto nothing = report_traces({trace}, {});
  EXPECT_THAT(nothing.advice, IsEmpty());
  EXPECT_THAT(nothing.notes, ElementsAre(HasSubstr("nothing in it is known")));
}

TEST(TraceReport, RanksAreCompared) {
  const auto report = report_traces(
      {trace_of(0, 2, {.part_ms = 30}, 20), trace_of(1, 2, {.part_ms = 20, .late_ms = 10}, 20)},
      {});
  ASSERT_THAT(report.ranks, SizeIs(2));
  EXPECT_EQ(report.ranks[1].compute_ns, 70 * kMs);
  EXPECT_EQ(report.job_ranks, 2);
  EXPECT_TRUE(report.stragglers.has_value());
}

TEST(TraceReport, WithoutWorkThereAreNoFigures) {
  RankTrace trace = trace_of(0, 1, {});
  for (TraceRecord& record : trace.records) record.kind = TraceKind::range;
  const auto report = report_traces({trace}, {"it has events of other categories"});
  EXPECT_THAT(report.advice, IsEmpty());
  EXPECT_THAT(report.notes, ElementsAre("it has events of other categories"));
  EXPECT_EQ(report.ranks[0].iterations, 0);
  EXPECT_TRUE(to_json(report)["ranks"][0]["idle_ns"].is_null());
  EXPECT_THAT(report.collectives, IsEmpty());
}

TEST(TraceReport, ARankWithoutWorkIsNotIdleBesideOthers) {
  RankTrace without = trace_of(1, 2, {});
  for (TraceRecord& record : without.records) record.kind = TraceKind::call;
  const auto report = report_traces({trace_of(0, 2, {}), without}, {});
  EXPECT_EQ(report.ranks[0].idle_ns, 25 * kMs);
  EXPECT_EQ(report.ranks[1].iterations, 0);
  EXPECT_FALSE(report.stragglers);
}

TEST(TraceReport, AdviceIsWithheldWhereMuchOfTheWorkIsInDoubt) {
  RankTrace trace = trace_of(0, 1, {});
  trace.quarantined = 1;
  EXPECT_THAT(report_traces({trace}, {}).advice, Not(IsEmpty()));
  trace.shortened = 1;
  const auto doubtful = report_traces({trace}, {"a note"});
  EXPECT_THAT(doubtful.advice, IsEmpty());
  EXPECT_EQ(doubtful.ranks[0].iterations, 6) << "the whole iterations are known";
  EXPECT_THAT(doubtful.notes, ElementsAre(HasSubstr("15.4 % of the work of rank 0"), "a note"));
  trace.step_starts.clear();
  const auto unknown = report_traces({trace}, {});
  EXPECT_EQ(unknown.ranks[0].iterations, 0);
  EXPECT_THAT(unknown.collectives, IsEmpty());
  EXPECT_THAT(unknown.notes, Contains(HasSubstr("no figure and no advice")));
}

FileNotes file_notes(const std::string& path, std::int64_t rank, std::int64_t events) {
  FileNotes file{.path = path, .notes = {}, .ranks = {rank}};
  file.notes.count("events without a duration", events);
  file.notes.add("it is cut off", NoteWeight::partial);
  return file;
}

TEST(JoinedNotes, SayFirstWhatWithholdsFiguresAndEachThingOnce) {
  ImportedTraces imported;
  for (const std::int64_t rank : {0, 1, 2, 4})
    imported.files.push_back(file_notes("f" + std::to_string(rank), rank, rank + 1));
  imported.files.back().notes.add("no steps were found");
  imported.files.back().notes.count("others");
  imported.notes = {"left out: a file"};
  EXPECT_THAT(
      joined_notes(imported),
      ElementsAre("f4: no steps were found", "left out: a file", "ranks 0 to 2, 4: it is cut off",
                  "ranks 0 to 2, 4: left out: 11 events without a duration, 1 others"));
}

}  // namespace
}  // namespace hocket
