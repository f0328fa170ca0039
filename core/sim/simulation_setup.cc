#include "core/sim/simulation_setup.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/partition.h"
#include "core/sim/collective_cost.h"

namespace hocket {
namespace {

/// Tasks over all simulated ranks: their state is a few hundred bytes each.
constexpr std::int64_t kMaxSimulatedTasks = 50'000'000;

PartCost cost(const StepDescription& step, CollectiveKind kind, std::int64_t bytes) {
  if (!step.cluster) return step.collective;
  return collective_cost(kind, bytes, step.ranks, step.ranks_per_host, *step.cluster);
}

void add_costs(const StepDescription& step, const StepTask& task, std::int64_t partition_bytes,
               SimulationSetup& setup) {
  const std::int64_t full = part_bytes(task.bytes, partition_bytes);
  const std::int64_t last = task.bytes - (part_count(task.bytes, partition_bytes) - 1) * full;
  setup.full_part.push_back(cost(step, *task.collective, full));
  setup.last_part.push_back(cost(step, *task.collective, last));
}

/// The time of a whole collective's bytes on an otherwise idle link.
double wire_ns(const StepDescription& step, const StepTask& task) {
  const PartCost whole = cost(step, *task.collective, task.bytes);
  return whole.beta_ns_per_byte * static_cast<double>(task.bytes);
}

double slowest_scale(const StepDescription& step) {
  const auto& scales = step.rank_compute_scale;
  return scales.empty() ? 1 : *std::max_element(scales.begin(), scales.end());
}

std::int64_t announce_ns(const StepDescription& step) {
  if (!step.cluster || step.ranks == 1) return 0;
  const bool one_host = step.ranks <= step.ranks_per_host;
  return (one_host ? step.cluster->host_link : step.cluster->network_link).latency_ns;
}

}  // namespace

Result<StepLayout> lay_out(const StepDescription& description) {
  StepLayout layout{.step = expand(description), .durations_ns = {}, .captured = {}, .groups = {}};
  std::vector<CapturedStep::Task> tasks;
  tasks.reserve(layout.step.tasks.size());
  for (const StepTask& task : layout.step.tasks) {
    tasks.push_back(
        {task.name, task.priority, task.collective.has_value(), task.bytes, task.accesses});
    layout.durations_ns.push_back(task.duration_ns);
  }
  layout.groups = rank_groups(layout.step);
  const auto simulated_tasks =
      static_cast<std::int64_t>(layout.groups.size()) * static_cast<std::int64_t>(tasks.size());
  if (simulated_tasks > kMaxSimulatedTasks) {
    return failure(ErrorCode::invalid_argument,
                   std::to_string(layout.groups.size()) + " ranks that differ, with " +
                       std::to_string(tasks.size()) +
                       " tasks each, are too much to simulate (at "
                       "most " +
                       std::to_string(kMaxSimulatedTasks) +
                       " tasks over all ranks); give fewer ranks, or fewer different ones");
  }
  layout.captured = std::make_shared<const CapturedStep>(std::move(tasks));
  return layout;
}

Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config) {
  const StepDescription& step = layout.step;
  SimulationSetup setup;
  std::int64_t parts = 0;
  for (const StepTask& task : step.tasks) {
    if (!task.collective) continue;
    parts += part_count(task.bytes, config.partition_bytes);
    add_costs(step, task, config.partition_bytes, setup);
  }
  if (parts > kMaxStepParts) {
    return failure(ErrorCode::invalid_argument,
                   "a step of " + std::to_string(parts) + " parts of at most " +
                       std::to_string(config.partition_bytes) +
                       " B is too much to simulate (at most " + std::to_string(kMaxStepParts) +
                       "); raise partition_bytes");
  }
  setup.durations_ns = layout.durations_ns;
  setup.captured = layout.captured;
  setup.groups = layout.groups;
  setup.negotiated = config.order == CollectiveOrder::negotiated;
  setup.plan = {.partition_bytes = config.partition_bytes,
                .credit_bytes = config.credit_bytes,
                .order = setup.negotiated ? PartOrder::priority : PartOrder::fifo};
  setup.streams = config.streams;
  setup.comm_channels = config.comm_channels;
  setup.channel_split = step.channel_split;
  setup.compute_slowdown = step.compute_slowdown;
  setup.compute_slowdown_per_channel = step.compute_slowdown_per_channel;
  setup.compute_slowdown_per_byte = step.compute_slowdown_per_byte;
  setup.jitter = step.jitter;
  setup.announce_ns = setup.negotiated ? announce_ns(step) : 0;
  return setup;
}

SimulationSetup unlimited_setup(const StepDescription& description) {
  const StepDescription step = expand(description);
  SimulationSetup setup;
  std::vector<CapturedStep::Task> tasks;
  for (const StepTask& task : step.tasks) {
    tasks.push_back(
        {task.name, task.priority, task.collective.has_value(), task.bytes, task.accesses});
    setup.durations_ns.push_back(task.duration_ns);
    // All of it as overhead, which parts on the link do not share.
    if (task.collective) setup.full_part.push_back({wire_ns(step, task), 0, 0});
  }
  setup.last_part = setup.full_part;
  setup.groups = {{0, 1, slowest_scale(step)}};
  setup.streams = setup.comm_channels = 2 * static_cast<int>(tasks.size());
  setup.captured = std::make_shared<const CapturedStep>(std::move(tasks));
  setup.plan = {.partition_bytes = kMaxStepBytes,
                .credit_bytes = 2 * kMaxStepBytes,
                .order = PartOrder::priority};
  return setup;
}

SerialTimes serial_times(const StepDescription& description) {
  const StepDescription step = expand(description);
  double compute_ns = 0, communication_ns = 0;
  for (const StepTask& task : step.tasks) {
    compute_ns += static_cast<double>(task.duration_ns);
    if (task.collective) communication_ns += wire_ns(step, task);
  }
  return {std::llround(compute_ns * slowest_scale(step)), std::llround(communication_ns)};
}

std::vector<LayerCost> layer_costs(const StepDescription& step) {
  const double scale = slowest_scale(step);
  const auto scaled = [scale](std::int64_t ns) {
    return std::llround(scale * static_cast<double>(ns));
  };
  std::vector<LayerCost> costs;
  for (const StepLayer& layer : step.layers) {
    const PartCost whole = cost(step, CollectiveKind::all_reduce, layer.parameter_bytes);
    costs.push_back(
        {layer.name, scaled(layer.forward_ns), scaled(layer.backward_ns),
         std::llround(whole.beta_ns_per_byte * static_cast<double>(layer.parameter_bytes))});
  }
  return costs;
}

}  // namespace hocket
