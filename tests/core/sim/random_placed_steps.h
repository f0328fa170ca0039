#pragma once

// Random step descriptions that are placed on a device with limited memory, for tests, reproducible
// by seed.

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "tests/core/placement/placed_model.h"

namespace hocket {

inline constexpr std::int64_t kRoomForAll = 1 << 24;

/// Returns the description of `placed` with random times. Some of the tasks that update no layer
/// are collectives, if `communicates`.
inline StepDescription described(const StepToPlace& placed, std::mt19937_64& random,
                                 bool communicates) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  for (const DataToPlace& data : placed.data) {
    step.data.push_back(data.name);
    step.data_places.push_back(
        {.bytes = data.bytes, .layer = data.layer, .is_transient = data.is_transient});
  }
  for (const TaskToPlace& source : placed.tasks) {
    StepTask& task = step.tasks.emplace_back();
    task.name = source.name + " of " + std::to_string(step.tasks.size());
    task.priority = static_cast<std::uint32_t>(below(6));
    task.accesses = source.accesses;
    task.place.updates_layer = source.updates_layer;
    if (communicates && source.updates_layer == kNoLayer && below(3) == 0) {
      task.collective = CollectiveKind::all_reduce;
      task.bytes = 1 + below(200'000);
    } else {
      task.duration_ns = below(100'000);
      if (source.updates_layer != kNoLayer) task.host_duration_ns = below(3) * below(300'000);
    }
  }
  step.device_memory_bytes = kRoomForAll;
  step.to_device = {static_cast<double>(below(5000)), static_cast<double>(below(30)), 0};
  step.to_host = {static_cast<double>(below(5000)), static_cast<double>(below(30)), 100};
  step.collective = {static_cast<double>(below(3000)), 1, static_cast<double>(below(2) * 5000)};
  return step;
}

/// Returns a model of layers or random tasks, on 1 to 3 ranks of which some may be slower. The
/// limit of the memory may be too low.
inline StepDescription random_placed_step(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  StepToPlace source;
  if (below(2)) {
    source = step_of({.layers = 1 + below(6),
                      .micro_batches = 1 + below(2),
                      .parameter_bytes = 256 * (1 + below(6)),
                      .state_bytes = 512 * (1 + below(6)),
                      .activation_bytes = 100 * (1 + below(6)),
                      .is_tied = below(2) == 0});
  } else {
    source = random_step(random);
  }
  StepDescription step = described(source, random, true);
  if (below(2)) step.device_memory_bytes = 256 * (8 + below(100));
  step.ranks = 1 + below(3);
  if (below(2))
    for (std::int64_t rank = 0; rank < step.ranks; ++rank)
      step.rank_compute_scale.push_back(1 + 0.25 * below(3));
  step.compute_slowdown = 0.1 * below(3);
  return step;
}

inline ScheduleConfig random_placed_config(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  ScheduleConfig config;
  config.partition_bytes = 4096 << below(8);
  config.credit_bytes = 4096 << below(10);
  config.streams = 1 + below(3);
  config.comm_channels = 1 << below(3);
  config.order = static_cast<CollectiveOrder>(below(3));
  config.offload_k = below(4) == 0 ? kAllLayers : below(6);
  config.prefetch_layers = below(5);
  return config;
}

}  // namespace hocket
