#include "core/sim/steady_run.h"

#include <vector>

#include "core/sim/steady_period.h"

namespace hocket {

Result<Simulation> measure_steady_run(SimulationRun& run, std::int64_t iterations,
                                      bool until_steady) {
  Simulation result;
  std::vector<SimulationRun::Finished> finished{{}};
  // All but the first iteration, which has no predecessor.
  std::vector<FinishedIteration> settling;
  std::size_t steady = 0;
  while (static_cast<std::int64_t>(result.iterations_ns.size()) < iterations && steady == 0) {
    const auto next = run.next_finished();
    HOCKET_TRY(next);
    result.iterations_ns.push_back(next->time_ns - finished.back().time_ns);
    if (finished.size() > 1)
      settling.push_back({result.iterations_ns.back(), static_cast<std::int64_t>(next->lag_ns)});
    finished.push_back(*next);
    if (until_steady) steady = steady_cycle(settling, run.tasks()).value_or(0);
  }
  if (steady == 0) steady = (result.iterations_ns.size() + 1) / 2;
  const auto& from = finished[finished.size() - 1 - steady];
  const auto& to = finished.back();
  const auto mean = [steady](std::int64_t total) {
    const auto n = static_cast<std::int64_t>(steady);
    return (total + n / 2) / n;
  };
  result.iteration_ns = mean(to.time_ns - from.time_ns);
  result.compute_ns = mean(to.busy.compute_ns - from.busy.compute_ns);
  result.communication_ns = mean(to.busy.communication_ns - from.busy.communication_ns);
  result.exposed_ns = mean(to.busy.exposed_ns - from.busy.exposed_ns);
  const auto lane_mean = [&](TaskLane lane) {
    const auto index = static_cast<std::size_t>(lane);
    return mean(to.busy.lanes_ns[index] - from.busy.lanes_ns[index]);
  };
  result.host_ns = lane_mean(TaskLane::host);
  result.to_device_ns = lane_mean(TaskLane::to_device);
  result.to_host_ns = lane_mean(TaskLane::to_host);
  result.device_peak_bytes = run.setup().device_peak_bytes;
  result.events = run.events();
  result.simulated_ranks = static_cast<std::int64_t>(run.setup().groups.size());
  result.part_order = run.part_order();
  result.parts = static_cast<std::int64_t>(result.part_order.size());
  result.names = run.watched_program().captured;
  return result;
}

}  // namespace hocket
