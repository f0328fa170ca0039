#include "profiler/metrics/activity_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/task_marker.h"
#include "profiler/metrics/iterations.h"

namespace hocket {
namespace {

constexpr int kSteps = 30;

/// Returns events of overlapping steps on several lanes, in the order in which they end.
std::vector<TraceEvent> random_events(std::mt19937_64& random) {
  std::vector<TraceEvent> events;
  std::int64_t start_ns = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    events.push_back({TraceKind::compute, 0, {}, step, start_ns, start_ns + 5});
    for (auto left = random() % 20; left > 0; --left) {
      const auto begin_ns = start_ns + static_cast<std::int64_t>(random() % 120);
      const auto end_ns = begin_ns + static_cast<std::int64_t>(random() % 90);
      const TraceKind kinds[] = {TraceKind::compute, TraceKind::communication, TraceKind::copy,
                                 TraceKind::range};
      events.push_back({kinds[random() % 4],
                        static_cast<std::int32_t>(random() % 3),
                        {},
                        step,
                        begin_ns,
                        end_ns});
    }
    start_ns += 100 + static_cast<std::int64_t>(random() % 40);
  }
  std::ranges::stable_sort(events, {}, &TraceEvent::end_ns);
  return events;
}

/// Returns a lane's busy time within `window`.
double busy_ns(const std::vector<TraceEvent>& events, TraceKind kind, std::int64_t lane,
               const Interval& window) {
  std::vector<Interval> inside;
  for (const TraceEvent& event : events) {
    if (event.kind != kind || event.lane != lane) continue;
    inside.push_back(
        {std::max(event.begin_ns, window.begin_ns), std::min(event.end_ns, window.end_ns)});
  }
  return static_cast<double>(length_ns(union_of(inside)));
}

TEST(ActivityMeter, AgreesWithWhatTheWholeTraceSays) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto events = random_events(random);
    TraceRecorder whole;
    for (const auto& event : events) whole.record(event);
    const auto iterations = measure_iterations(events, 0);
    ASSERT_EQ(iterations.size(), static_cast<std::size_t>(kSteps - 1));
    // Asks for a step once it and the next are complete, as a job does.
    ActivityMeter meter;
    std::size_t recorded = 0;
    for (std::int64_t step = 0; step + 1 < kSteps; ++step) {
      const auto is_left = [&](const TraceEvent& event) { return event.step <= step + 1; };
      const auto last = std::find_if(events.rbegin(), events.rend(), is_left);
      const auto until = static_cast<std::size_t>(events.rend() - last);
      for (; recorded < until; ++recorded) meter.record(events[recorded]);
      const auto activity = meter.take(step);
      ASSERT_TRUE(activity);
      const auto& expected = iterations[static_cast<std::size_t>(step)];
      EXPECT_EQ(activity->exposed_ns, expected.exposed_ns);
      const Interval window{*whole.step_start_ns(step), *whole.step_start_ns(step + 1)};
      const auto wall_ns = static_cast<double>(expected.wall_ns);
      for (const auto& lane : activity->lanes) {
        EXPECT_NEAR(lane.busy * wall_ns, busy_ns(events, lane.kind, lane.lane, window), 1e-6);
      }
      for (const TraceEvent& event : events) {
        if (event.kind == TraceKind::range) continue;
        const bool is_there = std::ranges::any_of(activity->lanes, [&](const LaneActivity& lane) {
          return lane.kind == event.kind && lane.lane == event.lane;
        });
        EXPECT_TRUE(is_there || busy_ns(events, event.kind, event.lane, window) == 0);
      }
      const auto place = [](const LaneActivity& l) { return std::pair(l.kind, l.lane); };
      EXPECT_TRUE(std::ranges::is_sorted(activity->lanes, {}, place));
    }
  }
}

TEST(ActivityMeter, SaysNothingOfWhatItDoesNotKnow) {
  ActivityMeter meter(4);
  EXPECT_FALSE(meter.take(0));
  for (std::int64_t step = 0; step < 4; ++step) {
    meter.record({TraceKind::compute, 0, {}, step, step * 10, step * 10 + 4});
    meter.record({TraceKind::communication, 0, {}, step, step * 10 + 4, step * 10 + 9});
  }
  EXPECT_FALSE(meter.take(0)) << "forgotten";
  EXPECT_FALSE(meter.take(1)) << "forgotten";
  const auto known = meter.take(2);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->exposed_ns, 5);
  EXPECT_FALSE(meter.take(2)) << "was asked already";
  EXPECT_FALSE(meter.take(3)) << "has no end yet";
}

TEST(ActivityMeter, SaysNothingOfStepsWhoseTasksWereNotTimed) {
  ActivityMeter meter;
  for (std::int64_t step = 0; step < 6; ++step) {
    meter.record({TraceKind::compute, 0, {}, step, step * 10, step * 10 + 4});
    if (step != 2) continue;
    meter.record({TraceKind::compute, 0, "step", step, 20, 20, 0, kWholeStep});
  }
  EXPECT_TRUE(meter.take(1));
  EXPECT_FALSE(meter.take(2));
  EXPECT_FALSE(meter.take(3)) << "tasks of step 2 may have run then";
  EXPECT_TRUE(meter.take(4));
}

TEST(ActivityMeter, TakesEventsOfManyThreads) {
  ActivityMeter meter;
  std::vector<std::thread> lanes;
  for (std::int32_t lane = 0; lane < 4; ++lane) {
    lanes.emplace_back([&meter, lane] {
      for (std::int64_t step = 0; step < 200; ++step)
        meter.record({TraceKind::compute, lane, {}, step, step * 10, step * 10 + 5});
    });
  }
  for (auto& lane : lanes) lane.join();
  for (std::int64_t step = 0; step + 1 < 200; ++step) {
    const auto activity = meter.take(step);
    ASSERT_TRUE(activity);
    ASSERT_EQ(activity->lanes.size(), 4u);
    for (const auto& lane : activity->lanes) EXPECT_EQ(lane.busy, 0.5);
  }
}

}  // namespace
}  // namespace hocket
