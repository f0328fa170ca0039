#include "core/sim/step_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/description/step_programs.h"
#include "core/partitioning/step_partition.h"
#include "core/placement/described_placement.h"
#include "core/plan/overlap_bound.h"
#include "core/sim/part_cost.h"
#include "core/sim/simulation_setup.h"
#include "core/sim/steady_run.h"

namespace hocket {
namespace {

/// Time of each task's bytes on an idle link, by task of the general form; 0 for computations.
using WireTimes = std::vector<double>;
using TierTimes = std::array<WireTimes, kLinkTiers>;

double slowest_scale(const StepDescription& step) {
  const auto& scales = step.rank_compute_scale;
  return scales.empty() ? 1 : *std::max_element(scales.begin(), scales.end());
}

double wire_ns(const StepDescription& step, const StepTask& task) {
  if (!task.collective) return 0;
  return least_ns_per_byte(step, task) * static_cast<double>(task.bytes);
}

/// Returns the part of `config` that determines a collective's stages, without parts, buckets and
/// pieces.
ScheduleConfig stages_of(const ScheduleConfig& config) {
  ScheduleConfig stages;
  stages.partition_bytes = std::int64_t{1} << 30;
  stages.primitive = config.primitive;
  stages.group_ranks = config.group_ranks;
  for (const auto& [name, overrides] : config.regions) {
    if (!overrides.primitive && !overrides.group_ranks) continue;
    RegionOverrides& region = stages.regions[name];
    region.primitive = overrides.primitive;
    region.group_ranks = overrides.group_ranks;
  }
  return stages;
}

/// Removes from `ns` the rounding of a stage between hosts: its share of a collective may be
/// rounded up to whole blocks, and less so in a bucket.
double unrounded(double ns, const StepDescription& step, const StepTask& stage,
                 const StepTask& source) {
  if (stage.group.tier != GroupTier::between || source.group.tier != GroupTier::whole) return ns;
  const RankGrid grid = mesh_of(step).grid_of(source.group.axes);
  const double share_bytes =
      static_cast<double>(source.bytes) / static_cast<double>(grid.ranks_per_host);
  return ns * std::min(1.0, share_bytes / static_cast<double>(stage.bytes));
}

/// Returns for each tier the time of all stages of a collective together.
Result<TierTimes> tier_times(const StepDescription& step, const ScheduleConfig& config) {
  TierTimes times;
  times.fill(WireTimes(step.tasks.size()));
  const auto add = [&](std::size_t task, CollectiveGroup group, double ns) {
    times[static_cast<std::size_t>(tier_of(step, group))][task] += ns;
  };
  const ScheduleConfig stages = stages_of(config);
  if (!is_partitioned(stages)) {
    for (std::size_t i = 0; i < step.tasks.size(); ++i)
      add(i, step.tasks[i].group, wire_ns(step, step.tasks[i]));
    return times;
  }
  const auto staged = partition_step(step, stages);
  HOCKET_TRY(staged);
  for (std::size_t i = 0; i < staged->step.tasks.size(); ++i) {
    const StepTask& stage = staged->step.tasks[i];
    if (!stage.collective) continue;
    const std::uint32_t source = staged->origins[i].sources.front();
    add(source, stage.group, unrounded(wire_ns(step, stage), step, stage, step.tasks[source]));
  }
  return times;
}

/// Returns the time of a compute task on the slowest rank, as the simulator rounds it. Copies take
/// the same on all ranks.
std::int64_t slowest_ns(const StepDescription& step, const StepTask& task) {
  if (task.lane == TaskLane::to_device || task.lane == TaskLane::to_host) return task.duration_ns;
  return std::llround(static_cast<double>(task.duration_ns) * slowest_scale(step));
}

/// Returns `step` with unlimited streams, channels and bandwidth, without overhead and jitter, on
/// its slowest rank. The lanes of a placed step are streams as well. Its period is a lower bound
/// for every schedule.
SimulationSetup unlimited_setup(const StepDescription& step, const WireTimes& wire) {
  SimulationSetup setup;
  ProgramSetup& program = setup.programs.emplace_back();
  std::vector<CapturedStep::Task> tasks;
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    const StepTask& task = step.tasks[i];
    tasks.push_back(
        {task.name, task.priority, task.collective.has_value(), task.bytes, task.accesses});
    program.durations_ns.push_back(slowest_ns(step, task));
    // Counts all of the time as overhead, which parts on the link do not share.
    if (task.collective) program.full_part.push_back({wire[i], 0, 0});
  }
  program.last_part = program.full_part;
  program.tiers.assign(program.full_part.size(), LinkTier::network);
  setup.groups = {{0, 1, 1}};
  setup.streams = setup.comm_channels = 2 * static_cast<int>(tasks.size());
  program.captured = std::make_shared<const CapturedStep>(std::move(tasks));
  setup.plan = {.partition_bytes = kMaxStepBytes,
                .credit_bytes = 2 * kMaxStepBytes,
                .order = PartOrder::priority};
  return setup;
}

Result<std::int64_t> unlimited_ns(const StepDescription& step, const WireTimes& wire) {
  SimulationRun run(unlimited_setup(step, wire), {});
  const auto period = measure_steady_run(run, kMaxSteadyIterations, true);
  HOCKET_TRY(period);
  return period->iteration_ns;
}

/// Returns the layers of the simple form as the overlap bound takes them, on the slowest rank.
std::vector<LayerCost> layer_costs(const StepDescription& simple, const StepDescription& general,
                                   const WireTimes& wire) {
  const double scale = slowest_scale(simple);
  const auto scaled = [scale](std::int64_t ns) {
    return std::llround(scale * static_cast<double>(ns));
  };
  std::vector<LayerCost> costs;
  for (const StepLayer& layer : simple.layers)
    costs.push_back({layer.name, scaled(layer.forward_ns), scaled(layer.backward_ns), 0});
  // In an expanded step, the priority of a task is the index of its layer.
  for (std::size_t i = 0; i < general.tasks.size(); ++i)
    costs[general.tasks[i].priority].communication_ns += std::llround(wire[i]);
  return costs;
}

/// Returns whether computations may be divided. Their pieces may run beside the parts they feed, so
/// the undivided step's dependencies bound nothing.
bool divides(const StepDescription& step, const ScheduleConfig& config) {
  return is_partitioned(config) &&
         std::any_of(step.tasks.begin(), step.tasks.end(),
                     [](const StepTask& task) { return !task.place.dimensions.empty(); });
}

/// Returns the period without limits: the bound by dependencies alone.
Result<std::int64_t> chain_ns(const StepDescription& step, const ScheduleConfig& config,
                              const TierTimes& times) {
  if (divides(step, config)) {
    const auto pieces = partition_step(step, config);
    HOCKET_TRY(pieces);
    WireTimes wire;
    for (const StepTask& piece : pieces->step.tasks) wire.push_back(wire_ns(step, piece));
    return unlimited_ns(pieces->step, wire);
  }
  std::int64_t longest_ns = 0;
  for (const WireTimes& wire : times) {
    const auto ns = unlimited_ns(step, wire);
    if (!ns) return ns;
    longest_ns = std::max(longest_ns, *ns);
  }
  return longest_ns;
}

}  // namespace

namespace {

/// Returns the step as if each rank had the servers to itself and pulls took no time: no schedule
/// over servers is faster. A rank exchanges parts with a server on its own host in no time.
StepDescription without_servers(StepDescription step) {
  const StepServers& servers = *step.servers;
  const double bytes_per_second =
      std::min(servers.rank_link.bytes_per_second, servers.server_link.bytes_per_second);
  step.collective = {.alpha_ns = 0,
                     .beta_ns_per_byte = servers.colocated ? 0 : 1e9 / bytes_per_second,
                     .latency_ns = 0};
  step.collective_inside.reset();
  step.collective_between.reset();
  step.cluster.reset();
  step.servers.reset();
  return step;
}

/// Returns the time for which the busiest link is busy in a step, one way, at least.
std::int64_t busiest_served_ns(const StepDescription& step) {
  double bytes = 0;
  for (const StepTask& task : expand(step).tasks) bytes += static_cast<double>(task.bytes);
  const StepServers& servers = *step.servers;
  const auto ranks = static_cast<double>(step.ranks);
  const double rank_ns = 1e9 * bytes / servers.rank_link.bytes_per_second;
  // Each part is pushed by all ranks but that of its server, whose answers leave by the same link.
  if (servers.colocated) return std::llround(2 * rank_ns * (ranks - 1) / ranks);
  const double server_ns = 1e9 * bytes * ranks / static_cast<double>(servers.servers) /
                           servers.server_link.bytes_per_second;
  return std::llround(std::max(rank_ns, server_ns));
}

Result<StepBound> bound_over_servers(const StepDescription& step, const ScheduleConfig& config) {
  ScheduleConfig reduced = config;
  reduced.communication = Communication::all_reduce;
  auto bound = bound_of(without_servers(step), reduced);
  HOCKET_TRY(bound);
  bound->communication_ns = busiest_served_ns(step);
  bound->bound_ns = std::max(bound->bound_ns, bound->communication_ns);
  return bound;
}

/// Removes everything that limits ranks but their tasks and who waits for whom: the bytes of a part
/// are overhead, which parts on one link do not share.
void lift_limits(SimulationSetup& setup, const JobFold& fold) {
  JobFold without_links = fold;
  for (FoldedCommunication& communication : without_links.communications)
    communication.uses.clear();
  setup.fold = std::make_shared<const JobFold>(std::move(without_links));
  std::uint32_t tasks = 0;
  for (const ProgramSetup& program : setup.programs)
    tasks = std::max(tasks, program.captured->size());
  setup.streams = setup.comm_channels = 2 * static_cast<int>(tasks);
  setup.compute_slowdown = setup.compute_slowdown_per_channel = 0;
  setup.compute_slowdown_per_byte = 0;
  setup.jitter = {};
  setup.plan = {.partition_bytes = kMaxStepBytes,
                .credit_bytes = 2 * kMaxStepBytes,
                .order = PartOrder::priority};
}

/// Returns the bound where ranks do not all take part in everything. Each link bounds the period by
/// what it carries, each rank by what it computes, and all together by who waits for whom.
Result<StepBound> bound_of_fold(const StepLayout& layout, const ScheduleConfig& config) {
  auto setup = simulation_setup(layout, config);
  HOCKET_TRY(setup);
  const JobFold& fold = *layout.fold;
  StepBound bound;
  std::vector<double> link_ns(fold.links);
  std::vector<bool> is_counted(fold.communications.size());
  for (std::size_t own = 0; own < fold.classes.size(); ++own) {
    const StepDescription& program = fold.programs[fold.classes[own].program];
    ProgramSetup& rank = setup->programs[own];
    double compute_ns = 0, communication_ns = 0;
    std::size_t number = 0;
    for (const StepTask& task : program.tasks) {
      compute_ns += static_cast<double>(task.duration_ns) * fold.classes[own].compute_scale;
      if (!task.collective) continue;
      const std::uint32_t which = fold.begun[own][number];
      const FoldedCommunication& communication = fold.communications[which];
      const double ns = static_cast<double>(task.bytes) *
                        least_ns_per_byte_alone(program, task, communication.crosses_hosts);
      communication_ns += ns;
      rank.full_part[number] = rank.last_part[number] = {ns, 0, 0};
      ++number;
      if (is_counted[which]) continue;
      is_counted[which] = true;
      for (const auto& use : communication.uses) link_ns[use.link] += ns * use.times;
    }
    bound.compute_ns = std::max<std::int64_t>(bound.compute_ns, std::llround(compute_ns));
    bound.communication_ns =
        std::max<std::int64_t>(bound.communication_ns, std::llround(communication_ns));
  }
  lift_limits(*setup, fold);
  SimulationRun run(std::move(*setup), {});
  const auto unlimited = measure_steady_run(run, kMaxSteadyIterations, true);
  HOCKET_TRY(unlimited);
  const double busiest_ns = link_ns.empty() ? 0 : *std::ranges::max_element(link_ns);
  bound.bound_ns =
      std::max<std::int64_t>({unlimited->iteration_ns, bound.compute_ns / config.streams,
                              std::llround(std::floor(busiest_ns))});
  return bound;
}

}  // namespace

Result<StepBound> bound_of(const StepDescription& description, const ScheduleConfig& config) {
  if (config.communication == Communication::parameter_server)
    return bound_over_servers(description, config);
  if (takes_part_by_rank(description)) {
    const auto layout = lay_out(description);
    HOCKET_TRY(layout);
    return bound_of_fold(*layout, config);
  }
  StepDescription step = expand(description);
  const bool is_placed = description.device_memory_bytes > 0;
  if (is_placed) {
    auto placed = place_description(step, config);
    HOCKET_TRY(placed);
    step = std::move(placed->step);
  }
  const auto times = tier_times(step, config);
  HOCKET_TRY(times);
  double compute_ns = 0, communication_ns = 0, busiest_link_ns = 0;
  std::array<std::int64_t, kTaskLanes> lanes_ns = {};
  for (const StepTask& task : step.tasks) {
    if (task.lane == TaskLane::stream) {
      compute_ns += static_cast<double>(task.duration_ns);
    } else {
      lanes_ns[static_cast<std::size_t>(task.lane)] += slowest_ns(step, task);
    }
  }
  for (const WireTimes& wire : *times) {
    const double ns = std::accumulate(wire.begin(), wire.end(), 0.0);
    communication_ns += ns;
    busiest_link_ns = std::max(busiest_link_ns, ns);
  }
  StepBound bound{.compute_ns = std::llround(compute_ns * slowest_scale(step)),
                  .communication_ns = std::llround(communication_ns),
                  .lanes_ns = std::accumulate(lanes_ns.begin(), lanes_ns.end(), std::int64_t{0})};
  if (!description.layers.empty() && !is_placed) {
    for (const WireTimes& wire : *times) {
      const auto ns = overlap_bound_ns(layer_costs(description, step, wire));
      bound.bound_ns = std::max(bound.bound_ns, ns);
    }
    return bound;
  }
  const auto chain = chain_ns(step, config, *times);
  HOCKET_TRY(chain);
  bound.bound_ns =
      std::max<std::int64_t>({*chain, bound.compute_ns / config.streams,
                              std::llround(busiest_link_ns), *std::ranges::max_element(lanes_ns)});
  return bound;
}

}  // namespace hocket
