#include "profiler/metrics/layer_costs.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

/// A computation of `name` in `step` that takes so long.
TraceEvent computed(std::string_view name, std::int64_t step, std::int64_t ns) {
  return {.name = name, .step = step, .begin_ns = 1000, .end_ns = 1000 + ns};
}

Workload two_layers() {
  return {.name = "toy", .tensors = {{.name = "low", .bytes = 1000}, {.name = "low2", .bytes = 0}}};
}

LayerCostOptions options(int world_size = 4) {
  return {.warmup = 1,
          .world_size = world_size,
          .link = {.bytes_per_second = 1e9, .latency_ns = 0},
          .tensor_of =
              [](std::string_view task) { return std::string(task.substr(0, task.find('.'))); },
          .is_backward = [](std::string_view task) { return task.ends_with(".back"); }};
}

TEST(LayerCosts, AreTheMediansOfASteps) {
  std::vector<TraceEvent> events = {computed("low.a", 0, 9000)};
  for (const std::int64_t step : {1, 2, 3}) {
    events.push_back(computed("low.a", step, 10 * step));
    events.push_back(computed("low.b", step, 1));
    events.push_back(computed("low.back", step, 100 * step));
  }
  const auto costs = layer_costs(events, two_layers(), options());
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(
      costs[0],
      (LayerCost{.name = "low", .forward_ns = 21, .backward_ns = 200, .communication_ns = 1500}))
      << "a ring of four ranks moves 2 · 3/4 of the bytes";
  EXPECT_EQ(costs[1], (LayerCost{.name = "low2"})) << "nothing ran";
}

TEST(LayerCosts, TasksOfNoTensorCountForTheLast) {
  const auto costs =
      layer_costs({computed("loss", 1, 5), computed("low2.a", 1, 7), computed("lower", 1, 11)},
                  two_layers(), options());
  EXPECT_EQ(costs[0].forward_ns, 0);
  EXPECT_EQ(costs[1].forward_ns, 5 + 7 + 11);
}

TEST(LayerCosts, CommunicationIsNoComputation) {
  TraceEvent part = computed("low.a", 1, 50);
  part.kind = TraceKind::communication;
  EXPECT_EQ(layer_costs({part}, two_layers(), options())[0].forward_ns, 0);
  EXPECT_EQ(layer_costs({}, two_layers(), options(1))[0].communication_ns, 0)
      << "one rank communicates nothing";
}

}  // namespace
}  // namespace hocket
