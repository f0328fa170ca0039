#include "core/sim/simulator.h"

#include <algorithm>
#include <utility>

#include "core/plan/overlap_bound.h"
#include "core/sim/simulation_run.h"
#include "core/sim/simulation_setup.h"
#include "core/sim/steady_run.h"
#include "core/sim/step_bound.h"

namespace hocket {
namespace {

/// Servers take parts in any order, so that each rank decides its own.
bool follows_static_order(const ScheduleConfig& config) {
  return config.order == CollectiveOrder::static_order &&
         config.communication != Communication::parameter_server;
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

/// Simulates `config` without jitter until it is steady, with the most urgent part first.
Result<Simulation> most_urgent_first(const StepLayout& layout, ScheduleConfig config) {
  if (!layout.fold) config.order = CollectiveOrder::negotiated;
  auto setup = simulation_setup(layout, config);
  HOCKET_TRY(setup);
  setup->is_urgent_first = layout.fold != nullptr;
  setup->jitter = {};
  SimulationRun run(std::move(*setup), {});
  return measure_steady_run(run, kMaxSteadyIterations, true);
}

Result<std::vector<std::uint32_t>> order_of_parts(const StepLayout& layout,
                                                  const ScheduleConfig& config) {
  auto result = most_urgent_first(layout, config);
  HOCKET_TRY(result);
  return std::move(result->part_order);
}

}  // namespace

Result<Simulation> simulate(const StepDescription& step, const SimulationOptions& options) {
  HOCKET_TRY(check(step, options.config, options));
  const auto layout = lay_out(step);
  HOCKET_TRY(layout);
  auto setup = simulation_setup(*layout, options.config);
  HOCKET_TRY(setup);
  const auto watched = static_cast<std::size_t>(options.watched_rank);
  setup->watched_group = setup->fold ? setup->fold->class_of[watched]
                                     : group_of(step, setup->groups, options.watched_rank);
  if (follows_static_order(options.config)) {
    // Folded without jitter, the job has fewer communications, under other numbers.
    auto order =
        layout->fold ? order_of_parts(*layout, options.config) : static_order(step, options.config);
    HOCKET_TRY(order);
    setup->static_order = std::move(*order);
  }

  const bool jitters = step.jitter.kind != JitterKind::none;
  const std::int64_t usual = jitters ? kJitterIterations : kMaxSteadyIterations;
  SimulationRun run(std::move(*setup), options);
  auto result = measure_steady_run(run, options.iterations > 0 ? options.iterations : usual,
                                   options.iterations == 0 && !jitters);
  if (!result) return result;

  const auto bound = bound_of(step, options.config);
  HOCKET_TRY(bound);
  result->bound_ns = bound->bound_ns;
  if (layout->fold) return result;
  result->efficiency =
      overlap_efficiency(bound->compute_ns + bound->lanes_ns, bound->communication_ns,
                         bound->bound_ns, result->iteration_ns);
  return result;
}

Result<PreparedStep> PreparedStep::make(StepDescription step) {
  step.jitter = {};
  HOCKET_TRY(validate(step));
  auto layout = lay_out(step);
  HOCKET_TRY(layout);
  return PreparedStep(std::make_shared<const StepLayout>(std::move(*layout)));
}

const StepDescription& PreparedStep::step() const {
  return layout_->step;
}

Result<std::int64_t> PreparedStep::iteration_ns(const ScheduleConfig& config,
                                                std::int64_t iterations) const {
  const auto result = simulation(config, iterations);
  HOCKET_TRY(result);
  return result->iteration_ns;
}

Result<Simulation> PreparedStep::simulation(const ScheduleConfig& config,
                                            std::int64_t iterations) const {
  HOCKET_TRY(validate(config));
  auto setup = simulation_setup(*layout_, config);
  HOCKET_TRY(setup);
  std::int64_t events_before = 0;
  if (follows_static_order(config)) {
    auto urgent = most_urgent_first(*layout_, config);
    if (!urgent) return urgent;
    setup->static_order = std::move(urgent->part_order);
    events_before = urgent->events;
  }
  SimulationRun run(std::move(*setup), {});
  const bool until_steady = iterations == 0;
  auto result =
      measure_steady_run(run, until_steady ? kMaxSteadyIterations : iterations, until_steady);
  if (result) result->events += events_before;
  return result;
}

Result<std::vector<std::uint32_t>> static_order(const StepDescription& step,
                                                const ScheduleConfig& config, std::int64_t rank) {
  StepDescription nominal = step;
  nominal.jitter = {};
  HOCKET_TRY(check(nominal, config, {.config = {}, .watched_rank = rank}));
  const auto layout = lay_out(nominal);
  HOCKET_TRY(layout);
  auto order = order_of_parts(*layout, config);
  if (!order || !layout->fold) return order;
  return order_of_class(*layout->fold, layout->fold->class_of[static_cast<std::size_t>(rank)],
                        *order);
}

}  // namespace hocket
