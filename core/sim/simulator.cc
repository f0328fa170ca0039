#include "core/sim/simulator.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/overlap_bound.h"
#include "core/sim/simulation_run.h"
#include "core/sim/simulation_setup.h"
#include "core/sim/steady_period.h"

namespace hocket {
namespace {

/// A period that has not settled by then is averaged over the second half.
constexpr std::int64_t kMaxIterations = 64;

/// What the iterations of `run` took, and the mean of the steady ones.
Result<Simulation> measure(SimulationRun& run, std::int64_t iterations, bool until_steady) {
  Simulation result;
  std::vector<SimulationRun::Finished> finished{{}};
  std::vector<FinishedIteration> settling;  // without the first, before which there is nothing
  std::size_t steady = 0;
  while (static_cast<std::int64_t>(result.iterations_ns.size()) < iterations && steady == 0) {
    const auto next = run.next_finished();
    if (!next) return failure(next.error());
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
  result.events = run.events();
  result.simulated_ranks = static_cast<std::int64_t>(run.setup().groups.size());
  result.part_order = run.part_order();
  result.parts = static_cast<std::int64_t>(result.part_order.size());
  result.names = run.setup().captured;
  return result;
}

Result<std::int64_t> bound_ns(const StepDescription& step, const SerialTimes& serial, int streams) {
  if (!step.layers.empty()) return overlap_bound_ns(layer_costs(step));
  SimulationRun run(unlimited_setup(step), {});
  const auto unlimited = measure(run, kMaxIterations, true);
  if (!unlimited) return failure(unlimited.error());
  return std::max({unlimited->iteration_ns, serial.compute_ns / streams, serial.communication_ns});
}

Result<void> check(const StepDescription& step, const ScheduleConfig& config,
                   const SimulationOptions& options) {
  if (auto ok = validate(config); !ok) return ok;
  if (auto ok = validate(step); !ok) return ok;
  if (options.watched_rank < 0 || options.watched_rank >= step.ranks) {
    return failure(ErrorCode::invalid_argument, "rank " + std::to_string(options.watched_rank) +
                                                    " is not there: the step has ranks 0 to " +
                                                    std::to_string(step.ranks - 1));
  }
  return {};
}

}  // namespace

Result<Simulation> simulate(const StepDescription& step, const SimulationOptions& options) {
  if (auto ok = check(step, options.config, options); !ok) return failure(ok.error());
  const auto layout = lay_out(step);
  if (!layout) return failure(layout.error());
  auto setup = simulation_setup(*layout, options.config);
  if (!setup) return failure(setup.error());
  setup->watched_group = group_of(step, setup->groups, options.watched_rank);
  if (options.config.order == CollectiveOrder::static_order) {
    auto order = static_order(step, options.config);
    if (!order) return failure(order.error());
    setup->static_order = std::move(*order);
  }

  const bool jitters = step.jitter.kind != JitterKind::none;
  const std::int64_t usual = jitters ? kJitterIterations : kMaxIterations;
  SimulationRun run(std::move(*setup), options);
  auto result = measure(run, options.iterations > 0 ? options.iterations : usual,
                        options.iterations == 0 && !jitters);
  if (!result) return result;

  const SerialTimes serial = serial_times(step);
  const auto bound = bound_ns(step, serial, options.config.streams);
  if (!bound) return failure(bound.error());
  result->bound_ns = *bound;
  result->efficiency = overlap_efficiency(serial.compute_ns, serial.communication_ns,
                                          result->bound_ns, result->iteration_ns);
  return result;
}

Result<PreparedStep> PreparedStep::make(StepDescription step) {
  step.jitter = {};
  if (auto ok = validate(step); !ok) return failure(ok.error());
  auto layout = lay_out(step);
  if (!layout) return failure(layout.error());
  return PreparedStep(std::make_shared<const StepLayout>(std::move(*layout)));
}

Result<std::int64_t> PreparedStep::iteration_ns(const ScheduleConfig& config,
                                                std::int64_t iterations) const {
  if (auto ok = validate(config); !ok) return failure(ok.error());
  HOCKET_CHECK(config.order != CollectiveOrder::static_order,
               "a static order is found by simulate");
  auto setup = simulation_setup(*layout_, config);
  if (!setup) return failure(setup.error());
  SimulationRun run(std::move(*setup), {});
  const auto result = measure(run, iterations > 0 ? iterations : kMaxIterations, iterations == 0);
  if (!result) return failure(result.error());
  return result->iteration_ns;
}

Result<std::vector<std::uint32_t>> static_order(const StepDescription& step,
                                                const ScheduleConfig& config) {
  StepDescription nominal = step;
  nominal.jitter = {};
  SimulationOptions options;
  options.config = config;
  options.config.order = CollectiveOrder::negotiated;
  if (auto ok = check(nominal, options.config, options); !ok) return failure(ok.error());
  const auto layout = lay_out(nominal);
  if (!layout) return failure(layout.error());
  auto setup = simulation_setup(*layout, options.config);
  if (!setup) return failure(setup.error());
  SimulationRun run(std::move(*setup), options);
  const auto result = measure(run, kMaxIterations, true);
  if (!result) return failure(result.error());
  return result->part_order;
}

}  // namespace hocket
