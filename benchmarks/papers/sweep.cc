#include "benchmarks/papers/sweep.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/sim/simulator.h"

namespace hocket {

std::int64_t iteration_ns(const StepDescription& step, const ScheduleConfig& config) {
  SimulationOptions options;
  options.config = config;
  const auto simulation = simulate(step, options);
  HOCKET_CHECK(simulation, simulation.error().message.c_str());
  return simulation->iteration_ns;
}

std::vector<ScheduleConfig> partition_and_credit_grid(
    const std::vector<std::int64_t>& partitions_bytes,
    const std::vector<std::int64_t>& credit_parts) {
  std::vector<ScheduleConfig> grid;
  for (const std::int64_t partition_bytes : partitions_bytes) {
    for (const std::int64_t parts : credit_parts) {
      ScheduleConfig config;
      config.partition_bytes = partition_bytes;
      config.credit_bytes = parts * partition_bytes;
      config.order = CollectiveOrder::negotiated;
      grid.push_back(config);
    }
  }
  return grid;
}

Tuned fastest(const std::vector<ScheduleConfig>& configs,
              const std::function<StepDescription(const ScheduleConfig&)>& step_under) {
  HOCKET_CHECK(!configs.empty(), "nothing to choose from");
  std::vector<Tuned> runs;
  for (const ScheduleConfig& config : configs) {
    runs.push_back({config, iteration_ns(step_under(config), config)});
  }
  return *std::min_element(runs.begin(), runs.end(), [](const Tuned& a, const Tuned& b) {
    return a.iteration_ns < b.iteration_ns;
  });
}

}  // namespace hocket
