#include "profiler/metrics/iterations.h"

#include <gtest/gtest.h>

#include <random>

#include "core/trace/task_marker.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

TraceEvent event(TraceKind kind, std::int64_t step, std::int64_t begin_ns, std::int64_t end_ns) {
  return {kind, 0, {}, step, begin_ns, end_ns, 0};
}

TEST(Iterations, AHandComputedTimeline) {
  constexpr auto compute = TraceKind::compute, communication = TraceKind::communication;
  // Steps start at 0, 100, 180; communication of step 0 runs into step 1.
  const std::vector<TraceEvent> events = {
      event(compute, 0, 0, 60),         event(communication, 0, 50, 90),
      event(communication, 0, 80, 120), event(compute, 1, 100, 150),
      event(compute, 1, 110, 130),      event(communication, 1, 140, 170),
      event(compute, 2, 180, 200),
  };
  EXPECT_EQ(measure_iterations(events, 0),
            (std::vector<Iteration>{{100, 60, 50, 40}, {80, 50, 50, 20}}));
  EXPECT_EQ(measure_iterations(events, 1), (std::vector<Iteration>{{80, 50, 50, 20}}));
  EXPECT_TRUE(measure_iterations(events, 9).empty());
  EXPECT_TRUE(measure_iterations({}, 0).empty());
}

// A whole step counts from its start to that of the next, which waits for its end.
TEST(Iterations, OfAWholeStepOnlyTheTimeIsKnown) {
  std::vector<TraceEvent> events = {event(TraceKind::compute, 0, 0, 90),
                                    event(TraceKind::compute, 1, 100, 170),
                                    event(TraceKind::compute, 2, 180, 250)};
  events[1].task = events[2].task = kWholeStep;
  EXPECT_EQ(measure_iterations(events, 0),
            (std::vector<Iteration>{{100, 90, 0, 0}, {.wall_ns = 80, .is_whole = true}}));
}

TEST(Iterations, AStepWhoseTasksWereNotTimedHidesThoseOfTheNextIterationToo) {
  std::vector<TraceEvent> events = {
      event(TraceKind::compute, 0, 0, 90), event(TraceKind::compute, 1, 100, 100),
      event(TraceKind::compute, 2, 180, 250), event(TraceKind::compute, 3, 260, 300),
      event(TraceKind::compute, 4, 330, 400)};
  events[1].task = kWholeStep;
  EXPECT_EQ(measure_iterations(events, 0),
            (std::vector<Iteration>{{100, 90, 0, 0},
                                    {.wall_ns = 80, .is_whole = true},
                                    {.wall_ns = 80, .is_whole = true},
                                    {70, 40, 0, 0}}));
}

TEST(Iterations, SomeIterationsHaveAllTimesAndMostCostNothing) {
  constexpr std::int64_t kWarmup = 3, kRunSteps = 400;
  std::vector<TraceEvent> events;
  for (std::int64_t step = 0; step < kRunSteps; ++step) {
    events.push_back(event(TraceKind::compute, step, 100 * step, 100 * step + 60));
    if (sampled_detail(step, kWarmup) == TraceDetail::tasks) continue;
    events.back().end_ns = events.back().begin_ns;
    events.back().task = kWholeStep;
  }
  const auto iterations = measure_iterations(events, kWarmup);
  EXPECT_FALSE(iterations.front().is_whole) << "a short run has some";
  std::int64_t timed = 0;
  for (const Iteration& iteration : iterations) {
    EXPECT_EQ(iteration.wall_ns, 100);
    EXPECT_EQ(iteration.compute_ns, iteration.is_whole ? 0 : 60);
    timed += iteration.is_whole ? 0 : 1;
  }
  EXPECT_GE(timed, kRunSteps / kSampledEvery);
  EXPECT_LE(timed, kRunSteps / kSampledEvery + 5);
}

TEST(Iterations, AreThoseOfAStoredTrace) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    std::vector<TraceEvent> events;
    RankTrace trace;
    for (std::int64_t step = 0; step < 6; ++step) {
      trace.step_starts.push_back({step, 100 * step});
      for (int i = 0; i < 5; ++i) {
        const auto kind = below(2) ? TraceKind::compute : TraceKind::communication;
        const std::int64_t begin_ns = 100 * step + (i == 0 ? 0 : below(90));
        events.push_back(event(kind, step, begin_ns, begin_ns + below(150)));
        TraceRecord& record = trace.records.emplace_back();
        record.kind = kind;
        record.begin_ns = begin_ns;
        record.end_ns = events.back().end_ns;
      }
    }
    const auto warmup = below(7);
    std::vector<Iteration> expected;
    for (const IterationMetrics& i : measure_rank(trace, warmup).iterations)
      expected.push_back({i.wall_ns, i.compute_ns, i.communication_ns, i.exposed_ns});
    EXPECT_EQ(measure_iterations(events, warmup), expected);
  }
}

TEST(Iterations, TheRecorderKeepsEverything) {
  TraceRecorder recorder;
  for (int step = 0; step < 5; ++step)
    recorder.record(event(TraceKind::compute, step, step * 10, step * 10 + 4));
  recorder.record(event(TraceKind::communication, 3, 28, 60));
  EXPECT_EQ(recorder.step_start_ns(2), 20);
  EXPECT_EQ(recorder.step_start_ns(3), 28) << "the first to end is not the first to begin";
  EXPECT_FALSE(recorder.step_start_ns(5));
  EXPECT_EQ(recorder.events().size(), 6u);
  EXPECT_EQ(measure_iterations(recorder.events(), 0).size(), 4u);
}

}  // namespace
}  // namespace hocket
