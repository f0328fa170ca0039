#include "core/sim/simulation_setup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/collective/part_sizes.h"
#include "core/description/step_programs.h"
#include "core/partitioning/step_partition.h"
#include "core/placement/described_placement.h"
#include "core/programs/fold_order.h"
#include "core/programs/job_fold.h"
#include "core/scheduler/scheduler.h"
#include "core/sim/part_cost.h"

namespace hocket {
namespace {

/// Limit on tasks over all simulated ranks; the state of each takes a few hundred bytes.
constexpr std::int64_t kMaxSimulatedTasks = 50'000'000;

/// Returns the cost of a part. Where only some ranks take part, the links are shared by who uses
/// them at that time.
PartCost cost_of(const StepDescription& step, const StepTask& task, bool crosses_hosts,
                 std::int64_t bytes, bool is_alone) {
  if (is_message(*task.collective)) return message_cost(step, crosses_hosts);
  if (*task.collective == CollectiveKind::shift)
    return is_alone ? shift_cost_alone(step, task) : shift_cost(step, task);
  return is_alone ? part_cost_alone(step, *task.collective, task.group, bytes)
                  : part_cost(step, *task.collective, task.group, bytes);
}

/// Returns what the tasks of a program take. `begun` are its communications in `fold`, if any.
ProgramSetup setup_of(const ProgramLayout& layout, const StepDescription& program,
                      std::int64_t partition_bytes, const JobFold* fold, std::size_t of_class) {
  ProgramSetup setup{.captured = layout.captured,
                     .durations_ns = layout.durations_ns,
                     .copied_bytes = layout.copied_bytes,
                     .full_part = {},
                     .last_part = {},
                     .tiers = {},
                     .kinds = {},
                     .among = {}};
  for (const StepTask& task : program.tasks) {
    if (!task.collective) continue;
    const std::size_t number = setup.kinds.size();
    const bool crosses_hosts =
        fold && fold->communications[fold->begun[of_class][number]].crosses_hosts;
    const std::int64_t full = part_bytes(task.bytes, partition_bytes);
    const std::int64_t last = task.bytes - (part_count(task.bytes, partition_bytes) - 1) * full;
    setup.full_part.push_back(cost_of(program, task, crosses_hosts, full, fold != nullptr));
    setup.last_part.push_back(cost_of(program, task, crosses_hosts, last, fold != nullptr));
    setup.tiers.push_back(tier_of(program, task.group));
    setup.kinds.push_back(*task.collective);
    setup.among.push_back(task.group);
  }
  return setup;
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

namespace {

TaskCommunication communication_of(const StepTask& task) {
  if (!task.collective) return {};
  TaskCommunication communication{.kind = *task.collective, .group = task.group};
  if (!is_message(*task.collective)) return communication;
  communication.peer = static_cast<std::int32_t>(task.peer->index);
  communication.is_relative = task.peer->is_relative;
  return communication;
}

ProgramLayout layout_of(const StepDescription& program) {
  ProgramLayout layout;
  std::vector<CapturedStep::Task> tasks;
  tasks.reserve(program.tasks.size());
  for (const StepTask& task : program.tasks) {
    tasks.push_back({task.name, task.priority, task.collective.has_value(), task.bytes,
                     task.accesses, task.lane, communication_of(task)});
    layout.durations_ns.push_back(task.duration_ns);
  }
  layout.captured = std::make_shared<const CapturedStep>(std::move(tasks));
  return layout;
}

Result<void> check_size(const StepLayout& layout) {
  std::int64_t tasks = 0;
  for (const RankClass& group : layout.groups)
    tasks += layout.programs[group.program].captured->size();
  if (tasks <= kMaxSimulatedTasks) return {};
  return invalid(std::to_string(layout.groups.size()) + " ranks that differ, with " +
                 std::to_string(tasks) + " tasks together, are too much to simulate (at most " +
                 std::to_string(kMaxSimulatedTasks) +
                 " tasks over all ranks); give fewer ranks, or fewer different ones");
}

Result<StepLayout> lay_out_fold(const StepDescription& description) {
  auto fold = fold_job(description);
  HOCKET_TRY(fold);
  StepLayout layout{.step = description, .programs = {}, .groups = {}, .fold = {}};
  for (const StepDescription& program : fold->programs)
    layout.programs.push_back(layout_of(program));
  layout.groups = fold->classes;
  layout.fold = std::make_shared<const JobFold>(std::move(*fold));
  HOCKET_TRY(check_size(layout));
  return layout;
}

}  // namespace

Result<StepLayout> lay_out(const StepDescription& description) {
  if (takes_part_by_rank(description)) return lay_out_fold(description);
  StepLayout layout{.step = expand(description), .programs = {}, .groups = {}, .fold = {}};
  layout.programs.push_back(layout_of(layout.step));
  layout.groups = rank_groups(layout.step);
  HOCKET_TRY(check_size(layout));
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

/// Checks what cannot be predicted of ranks that do not all take part in everything.
Result<void> check_fold(const StepLayout& layout, const ScheduleConfig& config) {
  if (!layout.fold) return {};
  const auto refused = [](const std::string& why) {
    return invalid("a step whose ranks do not all take part in everything " + why);
  };
  if (layout.step.device_memory_bytes > 0) return refused("is not placed");
  if (is_partitioned(config)) {
    return refused(
        "is not partitioned; leave bucket_bytes, primitive, group_ranks, compute_parts, "
        "micro_batches and regions as they are by default");
  }
  if (config.order == CollectiveOrder::fifo) return check_order_of_submission(*layout.fold);
  if (config.order == CollectiveOrder::negotiated)
    return refused("has no order=negotiated, in which rank 0 decides for all; take fifo or static");
  std::vector<std::shared_ptr<const CapturedStep>> programs;
  for (const ProgramLayout& program : layout.programs) programs.push_back(program.captured);
  return check_dependencies(*layout.fold, programs);
}

/// Returns the setup of a step whose collectives the plan cuts into parts.
Result<SimulationSetup> setup_of_parts(const StepLayout& layout, const ScheduleConfig& config) {
  const StepDescription& step = layout.step;
  SimulationSetup setup;
  const auto program_of = [&](std::size_t program) -> const StepDescription& {
    return layout.fold ? layout.fold->programs[program] : step;
  };
  std::int64_t parts = 0;
  for (std::size_t i = 0; i < layout.programs.size(); ++i)
    for (const StepTask& task : program_of(i).tasks)
      if (task.collective) parts += part_count(task.bytes, config.partition_bytes);
  if (parts > kMaxStepParts)
    return failure(too_many_parts(parts, config.partition_bytes, kMaxStepParts));
  setup.fold = layout.fold;
  setup.groups = layout.groups;
  for (std::size_t group = 0; group < setup.groups.size(); ++group) {
    // A message may cross hosts on some ranks of a program, and stay on a host on others.
    const std::uint32_t program = setup.groups[group].program;
    if (!layout.fold && group > 0) break;
    setup.programs.push_back(setup_of(layout.programs[program], program_of(program),
                                      config.partition_bytes, layout.fold.get(), group));
    setup.groups[group].program = static_cast<std::uint32_t>(group);
  }
  setup.device_peak_bytes = layout.device_peak_bytes;
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
    laid_out->programs.front().copied_bytes.push_back(
        copies ? layout.step.data_places[task.source].bytes : 0);
  }
  laid_out->device_peak_bytes = placed->placed.peak_bytes;
  return setup_of_parts(*laid_out, config);
}

}  // namespace

Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config) {
  HOCKET_TRY(check_communication(layout.step, config));
  HOCKET_TRY(check_fold(layout, config));
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
