// Tests by simulation that the backward pass overlaps itself: the weight gradients of one layer run
// at once where there are enough streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/sim/simulator.h"
#include "job/step/step_recorder.h"
#include "profiler/metrics/iterations.h"
#include "tests/examples/gpt2/model/host_model.h"

namespace hocket {
namespace {

const Text kOverlapText("whoever rests while the others sing is part of the song all the same");

/// Returns the largest number of `group`'s weight gradients that run at once in a step in which
/// they take much longer than all else.
int most_at_once(const std::string& group, int streams) {
  const Gpt2Config config{.layers = 1, .heads = 2, .d_model = 32, .sequence = 16, .batch = 2};
  const HostModel model(config, {}, kOverlapText, true);
  StepDescription step = record_step(*model);
  for (StepTask& task : step.tasks)
    if (!task.collective) task.duration_ns = task.name.ends_with(".dw") ? 1'000'000 : 1'000;
  TraceRecorder trace;
  const auto simulated =
      simulate(step, {.config = {.streams = streams}, .iterations = 2, .trace = &trace});
  EXPECT_TRUE(simulated) << simulated.error().message;
  std::vector<TraceEvent> events = trace.events();
  std::erase_if(events, [&](const TraceEvent& event) {
    return event.step != 0 || !event.name.starts_with(group) || !event.name.ends_with(".dw");
  });
  EXPECT_EQ(events.size(), 3u);
  int most = 0;
  for (const TraceEvent& event : events) {
    const auto running = std::ranges::count_if(events, [&](const TraceEvent& other) {
      return other.begin_ns <= event.begin_ns && event.begin_ns < other.end_ns;
    });
    most = std::max(most, static_cast<int>(running));
  }
  return most;
}

TEST(BackwardOverlap, WeightGradientsOfALayerRunAtOnce) {
  for (const std::string group : {"block.0.attention.", "block.0.mlp."}) {
    EXPECT_EQ(most_at_once(group, 1), 1) << group;
    EXPECT_EQ(most_at_once(group, 8), 3) << group;
  }
}

}  // namespace
}  // namespace hocket
