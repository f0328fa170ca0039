#include "core/sim/simulation_setup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/collective/part_sizes.h"
#include "core/partitioning/step_partition.h"
#include "core/placement/described_placement.h"
#include "core/scheduler/scheduler.h"
#include "core/sim/part_cost.h"

namespace hocket {
namespace {

/// Limit on tasks over all simulated ranks; the state of each takes a few hundred bytes.
constexpr std::int64_t kMaxSimulatedTasks = 50'000'000;

void add_costs(const StepDescription& step, const StepTask& task, std::int64_t partition_bytes,
               SimulationSetup& setup) {
  const std::int64_t full = part_bytes(task.bytes, partition_bytes);
  const std::int64_t last = task.bytes - (part_count(task.bytes, partition_bytes) - 1) * full;
  setup.full_part.push_back(part_cost(step, *task.collective, task.group, full));
  setup.last_part.push_back(part_cost(step, *task.collective, task.group, last));
  setup.tiers.push_back(tier_of(step, task.group));
  setup.kinds.push_back(*task.collective);
  setup.among.push_back(task.group);
}

std::int64_t announce_ns(const StepDescription& step) {
  if (!step.cluster || step.ranks == 1) return 0;
  const bool one_host = step.ranks <= step.ranks_per_host;
  return (one_host ? step.cluster->host_link : step.cluster->network_link).latency_ns;
}

Error too_many_parts(std::int64_t parts, std::int64_t partition_bytes, std::int64_t most) {
  return {ErrorCode::invalid_argument, "a step of " + std::to_string(parts) + " parts of at most " +
                                           std::to_string(partition_bytes) +
                                           " B is too much to simulate (at most " +
                                           std::to_string(most) + "); raise partition_bytes"};
}

/// Checks the number of pieces before the partitioned step is made, which takes more memory than
/// the parts of a plan.
Result<void> check_pieces(const StepDescription& step, const ScheduleConfig& config) {
  std::int64_t least_bytes = config.partition_bytes;
  for (const auto& [name, overrides] : config.regions)
    least_bytes = std::min(least_bytes, overrides.partition_bytes.value_or(least_bytes));
  std::int64_t pieces = 0;
  for (const StepTask& task : step.tasks)
    if (task.collective) pieces += part_count(task.bytes, least_bytes);
  if (pieces <= kMaxStepTasks) return {};
  return failure(too_many_parts(pieces, least_bytes, kMaxStepTasks));
}

}  // namespace

Result<StepLayout> lay_out(const StepDescription& description) {
  StepLayout layout{.step = expand(description),
                    .durations_ns = {},
                    .copied_bytes = {},
                    .device_peak_bytes = 0,
                    .captured = {},
                    .groups = {}};
  std::vector<CapturedStep::Task> tasks;
  tasks.reserve(layout.step.tasks.size());
  for (const StepTask& task : layout.step.tasks) {
    tasks.push_back({task.name, task.priority, task.collective.has_value(), task.bytes,
                     task.accesses, task.lane});
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
  // Parts begin when all ranks that differ have begun them, which would be false for groups of
  // which each has some of these ranks.
  const auto is_of_some = [](const StepTask& task) { return !task.group.axes.is_all(); };
  if (layout.groups.size() > 1 && std::ranges::any_of(layout.step.tasks, is_of_some)) {
    return failure(ErrorCode::invalid_argument,
                   "groups of some axes cannot be predicted for ranks that differ, by "
                   "rank_compute_scale, jitter or colocated servers");
  }
  layout.captured = std::make_shared<const CapturedStep>(std::move(tasks));
  return layout;
}

namespace {

/// Checks that the step says what its sums cost, and that servers can sum what it communicates.
Result<void> check_communication(const StepDescription& step, const ScheduleConfig& config) {
  if (config.communication != Communication::parameter_server) {
    if (has_collective_cost(step)) return {};
    return failure(ErrorCode::invalid_argument,
                   "communication=all_reduce: the step description only says what sums over "
                   "parameter servers cost; give it \"collective\" or \"links\", or predict "
                   "communication=parameter_server");
  }
  const auto refused = [](const std::string& why) {
    return failure(Error{ErrorCode::invalid_argument, "communication=parameter_server: " + why});
  };
  if (!step.servers) return refused("the step description has none; give it \"parameter_servers\"");
  if (is_partitioned(config) || step.device_memory_bytes > 0)
    return refused("servers do not sum the gradients of a step that is partitioned or placed");
  for (const StepTask& task : step.tasks) {
    if (!task.collective ||
        (*task.collective == CollectiveKind::all_reduce && task.group == CollectiveGroup::world))
      continue;
    return refused("servers only sum gradients over all ranks, and \"" + task.name + "\" is " +
                   std::string(in_words(*task.collective)) + " of " +
                   mesh_of(step).name_of(task.group));
  }
  return {};
}

/// Returns the setup of a step whose collectives the plan cuts into parts.
Result<SimulationSetup> setup_of_parts(const StepLayout& layout, const ScheduleConfig& config) {
  const StepDescription& step = layout.step;
  SimulationSetup setup;
  std::int64_t parts = 0;
  for (const StepTask& task : step.tasks) {
    if (!task.collective) continue;
    parts += part_count(task.bytes, config.partition_bytes);
    add_costs(step, task, config.partition_bytes, setup);
  }
  if (parts > kMaxStepParts)
    return failure(too_many_parts(parts, config.partition_bytes, kMaxStepParts));
  setup.durations_ns = layout.durations_ns;
  setup.copied_bytes = layout.copied_bytes;
  setup.device_peak_bytes = layout.device_peak_bytes;
  setup.captured = layout.captured;
  setup.groups = layout.groups;
  const bool is_served = config.communication == Communication::parameter_server;
  // Servers take parts in any order, so each rank decides its own.
  setup.negotiated = !is_served && config.order == CollectiveOrder::negotiated;
  setup.plan = {.partition_bytes = config.partition_bytes,
                .credit_bytes = config.credit_bytes,
                .order = setup.negotiated ? PartOrder::priority : PartOrder::fifo};
  if (is_served) {
    setup.plan = plan_options(config, false, 0, static_cast<int>(step.servers->servers));
    setup.servers = step.servers;
  }
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

Result<SimulationSetup> setup_of_placed(const StepLayout& layout, const ScheduleConfig& config) {
  const auto placed = place_description(layout.step, config);
  HOCKET_TRY(placed);
  auto laid_out = lay_out(placed->step);
  HOCKET_TRY(laid_out);
  for (const PlacedTask& task : placed->placed.tasks) {
    const bool copies = task.kind != PlacedKind::task;  // the source of a copy is a data item
    laid_out->copied_bytes.push_back(copies ? layout.step.data_places[task.source].bytes : 0);
  }
  laid_out->device_peak_bytes = placed->placed.peak_bytes;
  return setup_of_parts(*laid_out, config);
}

}  // namespace

Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config) {
  HOCKET_TRY(check_communication(layout.step, config));
  if (layout.step.device_memory_bytes > 0) return setup_of_placed(layout, config);
  if (!is_partitioned(config)) return setup_of_parts(layout, config);
  HOCKET_TRY(check_pieces(layout.step, config));
  const auto pieces = partition_step(layout.step, config);
  HOCKET_TRY(pieces);
  const auto laid_out = lay_out(pieces->step);
  HOCKET_TRY(laid_out);
  ScheduleConfig whole = config;
  whole.partition_bytes = kPiecesAreWholeBytes;
  return setup_of_parts(*laid_out, whole);
}

}  // namespace hocket
