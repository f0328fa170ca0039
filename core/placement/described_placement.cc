#include "core/placement/described_placement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

DataPlace place_of(const StepDescription& step, std::uint32_t data) {
  return data < step.data_places.size() ? step.data_places[data] : DataPlace{};
}

Access& access_to(std::vector<Access>& accesses, DataId data) {
  const auto found = std::ranges::find(accesses, data, &Access::data);
  return found == accesses.end() ? accesses.emplace_back(read(data)) : *found;
}

/// Adds what the accesses to ranges mean for the items that they are ranges of: who writes a range
/// changes the item.
std::vector<Access> with_wholes(const StepDescription& step, std::vector<Access> accesses) {
  const std::vector<Access> given = accesses;
  for (const Access& access : given) {
    const std::uint32_t whole = place_of(step, access.data.index).range_of;
    if (whole == kNotARange) continue;
    Access& of_whole = access_to(accesses, {whole});
    if (access.mode != AccessMode::read) of_whole.mode = AccessMode::update;
  }
  return accesses;
}

StepToPlace step_to_place(const StepDescription& step) {
  StepToPlace to_place;
  for (std::uint32_t data = 0; data < step.data.size(); ++data) {
    const DataPlace place = place_of(step, data);
    to_place.data.push_back({.name = step.data[data],
                             .bytes = place.range_of == kNotARange ? place.bytes : 0,
                             .layer = place.layer,
                             .is_transient = place.is_transient});
  }
  for (const StepTask& task : step.tasks) {
    to_place.tasks.push_back({.name = task.name,
                              .accesses = with_wholes(step, task.accesses),
                              .updates_layer = task.place.updates_layer});
  }
  return to_place;
}

TaskLane lane_of(const PlacedTask& task) {
  switch (task.kind) {
    case PlacedKind::fetch:
      return TaskLane::to_device;
    case PlacedKind::evict:
      return TaskLane::to_host;
    case PlacedKind::task:
      return task.site == PlacementSite::host ? TaskLane::host : TaskLane::stream;
  }
  return TaskLane::stream;
}

/// Returns the priority of the first task after the copy at `position` that uses what it copies, in
/// this step or the next.
std::uint32_t priority_of_copy(const StepDescription& step, const PlacedStep& placed,
                               std::size_t position) {
  const auto& accesses = placed.tasks[position].accesses;
  const DataId copied = std::ranges::find(accesses, AccessMode::write, &Access::mode)->data;
  for (std::size_t after = 1; after < placed.tasks.size(); ++after) {
    const PlacedTask& task = placed.tasks[(position + after) % placed.tasks.size()];
    if (task.kind == PlacedKind::task &&
        std::ranges::find(task.accesses, copied, &Access::data) != task.accesses.end())
      return step.tasks[task.source].priority;
  }
  return 0;
}

std::int64_t copy_ns(const PartCost& cost, std::int64_t bytes) {
  return std::llround(cost.alpha_ns + cost.latency_ns +
                      cost.beta_ns_per_byte * static_cast<double>(bytes));
}

StepTask copy_task(const StepDescription& step, const PlacedStep& placed, std::size_t position) {
  const PlacedTask& copy = placed.tasks[position];
  const bool fetches = copy.kind == PlacedKind::fetch;
  const std::int64_t bytes = place_of(step, copy.source).bytes;
  StepTask task;
  task.name = (fetches ? "fetch " : "evict ") + step.data[copy.source];
  task.duration_ns = copy_ns(fetches ? step.to_device : step.to_host, bytes);
  task.priority = priority_of_copy(step, placed, position);
  return task;
}

}  // namespace

std::int64_t layers_of(const StepDescription& step) {
  std::int64_t layers = 0;
  for (const DataPlace& place : step.data_places) layers = std::max(layers, place.layer + 1);
  return layers;
}

Result<PlacedDescription> place_description(const StepDescription& step,
                                            const ScheduleConfig& config) {
  if (is_partitioned(config)) {
    return failure(ErrorCode::invalid_argument,
                   "a step that is placed on a device of limited memory is not partitioned; leave "
                   "out " +
                       names_text(KnobEffect::partitioning) +
                       " and regions, or the limit of the memory");
  }
  auto placed = place_step(step_to_place(step), {.device_memory_bytes = step.device_memory_bytes,
                                                 .offload_k = config.offload_k,
                                                 .prefetch_layers = config.prefetch_layers});
  HOCKET_TRY(placed);
  PlacedDescription described{.step = step, .placed = std::move(*placed)};
  described.step.tasks.clear();
  described.step.data_places.clear();
  for (auto data = static_cast<std::uint32_t>(step.data.size()); data < described.placed.data;
       ++data)
    described.step.data.push_back("place " + std::to_string(data));
  const auto& tasks = described.placed.tasks;
  for (std::size_t position = 0; position < tasks.size(); ++position) {
    const PlacedTask& placed_task = tasks[position];
    StepTask task = placed_task.kind == PlacedKind::task
                        ? step.tasks[placed_task.source]
                        : copy_task(step, described.placed, position);
    task.lane = lane_of(placed_task);
    if (task.lane == TaskLane::host && task.host_duration_ns > 0)
      task.duration_ns = task.host_duration_ns;
    task.accesses = placed_task.accesses;
    described.step.tasks.push_back(std::move(task));
  }
  return described;
}

}  // namespace hocket
