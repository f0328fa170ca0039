// Tests by simulation that the backward pass overlaps itself: the weight gradients of one layer run
// at once where there are enough streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/sim/simulator.h"
#include "job/step/step_recorder.h"
#include "profiler/metrics/iterations.h"
#include "tests/job/graph/language_model.h"

namespace hocket {
namespace {

/// Returns the largest number of weight gradients of a part of the model that run at once in a step
/// in which they take much longer than all else.
int most_at_once(const std::string& part, int streams) {
  const LanguageModel model(small_gpt2(1, 32, 16), {.grid = {2, 2}, .slack = kMostSlack});
  StepDescription step = record_step(*model);
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    StepTask& task = step.tasks[i];
    if (task.collective) continue;
    const bool is_long = task.name.starts_with("gradient of ") &&
                         task.name.find(".weight in " + part + "/") != std::string::npos;
    task.duration_ns = is_long ? 1'000'000 : 1'000;
    if (is_long) task.name = "weight gradient " + std::to_string(i);
  }
  step.collective.beta_ns_per_byte = 1e-3;
  TraceRecorder trace;
  const auto simulated =
      simulate(step, {.config = {.streams = streams}, .iterations = 2, .trace = &trace});
  EXPECT_TRUE(simulated) << simulated.error().message;
  std::vector<TraceEvent> events = trace.events();
  std::erase_if(events, [&](const TraceEvent& event) {
    return event.step != 0 || !event.name.starts_with("weight gradient");
  });
  EXPECT_EQ(events.size(), 2u);
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
  for (const std::string part : {"block0.attention", "block0.mlp"}) {
    EXPECT_EQ(most_at_once(part, 1), 1) << part;
    EXPECT_EQ(most_at_once(part, 8), 2) << part;
  }
}

}  // namespace
}  // namespace hocket
