#include "profiler/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/profiler/random_timeline.h"
#include "tests/profiler/ticks.h"

namespace hocket {

void PrintTo(const IterationMetrics& i, std::ostream* out) {
  *out << "step " << i.step << " at " << i.begin_ns << ": W " << i.wall_ns << " C " << i.compute_ns
       << " M " << i.communication_ns << " P " << i.copy_ns << " exposed " << i.exposed_ns
       << " other " << i.other_ns << " idle " << i.idle_ns;
}

void PrintTo(const StreamMetrics& s, std::ostream* out) {
  *out << "kind " << static_cast<int>(s.kind) << " lane " << ' ' << s.lane << ": " << s.records
       << " records, busy " << s.busy_ns << ", gaps host " << s.gaps.host_ns << " event "
       << s.gaps.event_ns << " kernel " << s.gaps.kernel_ns << " unknown " << s.gaps.unknown_ns;
}

void PrintTo(const LaunchLatency& l, std::ostream* out) {
  for (const LatencyFigures& f : {l.to_idle_stream, l.all})
    *out << f.records << " records, median " << f.median_ns << " p95 " << f.p95_ns << "; ";
}

namespace {

constexpr std::uint64_t kTimelines = 3000;

TraceRecord record(TraceKind kind, std::int32_t lane, std::int64_t begin_ns, std::int64_t end_ns,
                   std::int64_t submitted_ns = 0, std::int64_t ready_ns = 0) {
  TraceRecord record;
  record.kind = kind;
  record.lane = lane;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  record.submitted_ns = submitted_ns;
  record.ready_ns = ready_ns;
  return record;
}

RankTrace hand_made() {
  RankTrace trace;
  trace.names = {"task"};
  trace.step_starts = {{4, 1000}, {5, 1200}, {6, 1300}};
  trace.records = {
      record(TraceKind::compute, 0, 900, 1050, 880, 890),
      // Gap of 50 ns: 20 not submitted, 20 not ready, 10 switching.
      record(TraceKind::compute, 0, 1100, 1160, 1070, 1090),
      // Gap of 90 ns, submitted and ready before; 40 of them in step 4.
      record(TraceKind::compute, 0, 1250, 1290, 1000, 1000),
      record(TraceKind::communication, 0, 1040, 1110),
      record(TraceKind::communication, 0, 1180, 1220),
      record(TraceKind::copy, 1, 1155, 1190),
      record(TraceKind::range, 0, 1000, 1300),
  };
  put_in_order(trace);
  return trace;
}

TEST(Metrics, IterationsOfAHandComputedTimeline) {
  const auto iterations = measure_rank(hand_made()).iterations;
  // Step 4: C [1000,1050) [1100,1160), M [1040,1110) [1180,1200), P [1155,1190).
  // Step 5: C [1250,1290), M [1200,1220).
  const std::vector<IterationMetrics> expected{{4, 1000, 200, 110, 90, 35, 70, 20, 0},
                                               {5, 1200, 100, 40, 20, 0, 20, 0, 40}};
  ASSERT_EQ(iterations.size(), 2u);
  EXPECT_EQ(iterations, expected);
  EXPECT_EQ(iterations[0].overlap_ns(), 20);
  EXPECT_EQ(measure_rank(hand_made(), 5).iterations, std::vector{expected[1]});
}

TEST(Metrics, StreamsOfAHandComputedTimeline) {
  const auto streams = measure_rank(hand_made()).streams;
  const std::vector<StreamMetrics> expected{
      {TraceKind::compute, 0, 2, 150, {20, 20, 100, 0}},
      {TraceKind::communication, 0, 2, 110, {0, 0, 0, 70}},
      {TraceKind::copy, 1, 1, 35, {}},
  };
  EXPECT_EQ(streams, expected);
}

TEST(Metrics, LaunchesOfAHandComputedTimeline) {
  RankTrace trace = hand_made();
  // A record with nothing to wait for, submitted to an idle stream: 15 ns.
  trace.records.push_back(record(TraceKind::copy, 1, 1215, 1230, 1200, 1195));
  put_in_order(trace);
  const auto launch = measure_rank(trace).launch;
  ASSERT_TRUE(launch);
  // The latencies of all records that begin in a window are 15, 30 and 250.
  EXPECT_EQ(launch->to_idle_stream, (LatencyFigures{1, 15, 15}));
  EXPECT_EQ(launch->all.records, 3);
  EXPECT_EQ(launch->all.median_ns, 30);
  EXPECT_NEAR(launch->all.p95_ns, 228, 1e-9);
  trace.records.clear();
  EXPECT_FALSE(measure_rank(trace).launch);
}

TEST(Metrics, AShortGapIsASwitchAndALongOneUnknown) {
  RankTrace trace;
  trace.step_starts = {{0, 1}, {1, 1000}};
  trace.records = {
      record(TraceKind::compute, 0, 100, 200), record(TraceKind::compute, 0, 229, 300, 150),
      record(TraceKind::compute, 0, 330, 400, 150), record(TraceKind::compute, 0, 500, 600)};
  EXPECT_EQ(measure_rank(trace).streams.at(0).gaps, (GapTimes{0, 0, 29, 130}));
}

TEST(Metrics, AgreeWithCountingEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < kTimelines; ++seed) {
    SCOPED_TRACE(seed);
    RandomTimeline random(seed);
    const RankTrace trace = random.trace();
    const auto first_step = random.below(4);
    RankMetrics expected = Ticks(trace, first_step).count();
    // Nothing says that a rank without any work was idle.
    if (!has_activity(trace)) expected.iterations.clear();
    const RankMetrics actual = measure_rank(trace, first_step);
    ASSERT_EQ(actual.iterations, expected.iterations);
    ASSERT_EQ(actual.streams, expected.streams);
    ASSERT_EQ(actual.launch.has_value(), expected.launch.has_value());
    if (!actual.launch) continue;
    for (const auto figures : {&LaunchLatency::to_idle_stream, &LaunchLatency::all}) {
      const LatencyFigures &a = *actual.launch.*figures, &b = *expected.launch.*figures;
      ASSERT_EQ(a.records, b.records);
      ASSERT_NEAR(a.median_ns, b.median_ns, 1e-9);
      ASSERT_NEAR(a.p95_ns, b.p95_ns, 1e-9);
    }
  }
}

TEST(Metrics, ThePartsSumToTheWhole) {
  for (std::uint64_t seed = 0; seed < kTimelines; ++seed) {
    SCOPED_TRACE(seed);
    const RankTrace trace = RandomTimeline(seed).trace();
    const RankMetrics metrics = measure_rank(trace);
    for (const IterationMetrics& i : metrics.iterations) {
      ASSERT_EQ(i.compute_ns + i.exposed_ns + i.other_ns + i.idle_ns, i.wall_ns);
      ASSERT_GE(i.overlap_ns(), 0);
      ASSERT_LE(i.overlap_ns(), i.compute_ns);
    }
    const Ticks ticks(trace, 0);
    for (const StreamMetrics& s : metrics.streams) {
      const GapTimes& gaps = s.gaps;
      ASSERT_EQ(s.busy_ns + gaps.host_ns + gaps.event_ns + gaps.kernel_ns + gaps.unknown_ns,
                ticks.span_ns(s.kind, s.lane));
    }
  }
}

TEST(Metrics, OrderAndOriginChangeNothing) {
  for (std::uint64_t seed = 0; seed < kTimelines; ++seed) {
    SCOPED_TRACE(seed);
    RandomTimeline random(seed);
    const RankTrace trace = random.trace();
    const RankMetrics expected = measure_rank(trace);
    RankTrace other = trace;
    std::shuffle(other.records.begin(), other.records.end(), random.engine());
    ASSERT_EQ(measure_rank(other), expected);

    const std::int64_t shift_ns = std::int64_t{1} << (20 + random.below(41));
    for (StepStart& start : other.step_starts) start.begin_ns += shift_ns;
    for (TraceRecord& record : other.records) {
      record.begin_ns += shift_ns;
      record.end_ns += shift_ns;
      if (record.submitted_ns > 0) record.submitted_ns += shift_ns;
      if (record.ready_ns > 0) record.ready_ns += shift_ns;
    }
    RankMetrics shifted = measure_rank(other);
    for (IterationMetrics& iteration : shifted.iterations) iteration.begin_ns -= shift_ns;
    ASSERT_EQ(shifted, expected);
  }
}

TEST(Metrics, LanesAreOnlyNames) {
  for (std::uint64_t seed = 0; seed < kTimelines; ++seed) {
    SCOPED_TRACE(seed);
    RankTrace trace = RandomTimeline(seed).trace();
    const RankMetrics expected = measure_rank(trace);
    for (TraceRecord& record : trace.records) record.lane = record.lane == 0 ? 70'000 : 3;
    RankMetrics renamed = measure_rank(trace);
    ASSERT_EQ(renamed.iterations, expected.iterations);
    ASSERT_EQ(renamed.launch, expected.launch);
    for (StreamMetrics& stream : renamed.streams) stream.lane = stream.lane == 3 ? 1 : 0;
    ASSERT_TRUE(std::is_permutation(renamed.streams.begin(), renamed.streams.end(),
                                    expected.streams.begin(), expected.streams.end()));
  }
}

TEST(Metrics, NothingInGivesNothingOut) {
  EXPECT_EQ(measure_rank({}), RankMetrics{});
  RankTrace backwards;
  backwards.step_starts = {{0, 500}, {1, 100}, {2, 50}};
  backwards.records = {record(TraceKind::compute, 0, 100, 50), record(TraceKind::copy, -1, -5, 9)};
  const RankMetrics metrics = measure_rank(backwards);
  EXPECT_TRUE(metrics.iterations.empty());
  EXPECT_TRUE(metrics.streams.empty());
}

}  // namespace
}  // namespace hocket
