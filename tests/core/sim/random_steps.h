#pragma once

// Random step descriptions for tests, reproducible by seed.

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "tests/core/sim/priced_kinds.h"

namespace hocket {

/// Returns a chain of 1 to 12 layers; communication takes a whole number of nanoseconds per byte.
inline StepDescription random_chain(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  step.layers.resize(1 + random() % 12);
  for (StepLayer& layer : step.layers) {
    layer.name = "layer";
    layer.parameter_bytes = below(3) == 0 ? below(100) * 64 : below(40'000) * 64;
    layer.forward_ns = below(2'000'000);
    layer.backward_ns = below(3'000'000);
  }
  step.collective = {0, static_cast<double>(1 + below(4)), 0};
  return step;
}

/// Returns a graph of 1 to 20 tasks on 1 to 6 items.
inline StepDescription random_graph(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  const auto items = 1 + random() % 6;
  for (std::uint64_t i = 0; i < items; ++i) step.data.push_back("d" + std::to_string(i));
  step.tasks.resize(1 + random() % 20);
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    StepTask& task = step.tasks[i];
    task.name = "t" + std::to_string(i);
    task.priority = static_cast<std::uint32_t>(below(6));
    if (below(2)) {
      task.collective = kPricedKinds[random() % kPricedKinds.size()];
      task.bytes = below(200'000);
    } else {
      task.duration_ns = below(100'000);
    }
    for (auto n = random() % 4; n > 0; --n) {
      const DataId data{static_cast<std::uint32_t>(random() % items)};
      bool known = false;
      for (const Access& access : task.accesses) known = known || access.data == data;
      if (!known) task.accesses.push_back({data, static_cast<AccessMode>(random() % 3)});
    }
  }
  step.collective = {static_cast<double>(below(3000)), 1, static_cast<double>(below(2) * 5000)};
  return step;
}

/// Returns a step of 1 to 4 layers in 1 to 3 micro-batches, on 1 to 4 hosts of 1 to 4 ranks, with
/// or without links. Each layer runs forward, then backward, then computes its gradient, which may
/// be divided by rows or by its sum; the gradient is all-reduced, then the layer is updated.
inline StepDescription random_training_step(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto layers = static_cast<std::uint32_t>(1 + below(4));
  const auto batches = static_cast<std::uint32_t>(1 + below(3));
  StepDescription step;
  step.ranks_per_host = 1 + below(4);
  step.ranks = step.ranks_per_host * (1 + below(4));
  step.collective = {static_cast<double>(below(30'000)), 0.5, static_cast<double>(below(9000))};
  if (below(3) > 0) {
    step.cluster =
        Cluster{.host_link = {1e9 * static_cast<double>(1 + below(100)), below(5000)},
                .network_link = {1e9 * static_cast<double>(1 + below(10)), below(20'000)},
                .algorithm = CollectiveAlgorithm(below(3))};
  }
  step.channel_split = static_cast<double>(below(2));
  // Lets communication dominate in some steps.
  const std::int64_t pace = below(2) ? 100 : 1;
  // Parameters and gradients of layer i, then the activations of each micro-batch.
  for (std::uint32_t i = 0; i < layers; ++i) step.data.push_back("w" + std::to_string(i));
  for (std::uint32_t i = 0; i < layers; ++i) step.data.push_back("g" + std::to_string(i));
  for (std::uint32_t m = 0; m < batches; ++m) step.data.push_back("x" + std::to_string(m));
  const auto add = [&](const std::string& what, std::uint32_t layer, std::int64_t duration_ns,
                       std::vector<Access> accesses) -> StepTask& {
    StepTask& task = step.tasks.emplace_back();
    task.name = what + std::to_string(step.tasks.size());
    task.duration_ns = duration_ns / pace;
    task.priority = layer;
    task.accesses = std::move(accesses);
    task.place.region = "layer" + std::to_string(layer);
    return task;
  };
  std::vector<std::int64_t> rows, row_bytes;
  for (std::uint32_t i = 0; i < layers; ++i) {
    rows.push_back(1 + below(64));
    row_bytes.push_back(64 * (1 + below(600)));
  }
  const auto rows_of = [&](std::uint32_t i) {
    return Dimension{.name = "rows",
                     .kind = DimensionKind::outer,
                     .extent = rows[i],
                     .slices = {{.data = {layers + i}, .bytes_per_unit = row_bytes[i]}}};
  };
  for (std::uint32_t m = 0; m < batches; ++m) {
    const DataId x{2 * layers + m};
    for (std::uint32_t i = 0; i < layers; ++i)
      add("forward", i, below(3'000'000), {read({i}), update(x)}).place.micro_batch = m;
    for (std::uint32_t i = layers; i-- > 0;) {
      add("backward", i, below(2'000'000), {read({i}), update(x)}).place.micro_batch = m;
      const Access gradient = m == 0 ? write({layers + i}) : update({layers + i});
      StepTask& task = add("gradient", i, below(2'000'000), {read(x), gradient});
      task.place.micro_batch = m;
      task.place.dimensions = {rows_of(i), {"batch", DimensionKind::contraction, 8, {}}};
      if (below(3) == 0) task.place.dimensions.clear();
    }
  }
  for (std::uint32_t i = layers; i-- > 0;) {
    StepTask& task = add("sum", i, 0, {update({layers + i})});
    task.collective = CollectiveKind::all_reduce;
    task.bytes = rows[i] * row_bytes[i];
  }
  for (std::uint32_t i = 0; i < layers; ++i) {
    add("update", i, below(300'000), {read({layers + i}), update({i})}).place.dimensions = {
        rows_of(i)};
  }
  return step;
}

/// Returns a partition for such a step; it may not fit the step.
inline ScheduleConfig random_partition(std::mt19937_64& random, const StepDescription& step) {
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  ScheduleConfig config;
  config.partition_bytes = 4096 << below(10);
  config.credit_bytes = 4096 << below(12);
  config.streams = 1 + below(2);
  config.comm_channels = 1 << below(3);
  config.order = static_cast<CollectiveOrder>(below(3));
  config.primitive = static_cast<CollectivePrimitive>(below(2));
  config.group_ranks = below(2) ? step.ranks_per_host : 1;
  config.launch = static_cast<CollectiveLaunch>(below(2));
  if (below(2)) {
    config.compute_parts = 1 << below(4);
  } else {
    config.bucket_bytes = below(2) * (4096 << below(10));
  }
  config.compute_order = static_cast<ComputeOrder>(below(2));
  config.micro_batches_kept = 1 + below(3);
  if (below(3) == 0) {
    RegionOverrides& region = config.regions["layer0"];
    if (below(2)) region.partition_bytes = 4096 << below(10);
    if (below(2)) region.primitive = static_cast<CollectivePrimitive>(below(2));
    if (below(2)) region.launch = static_cast<CollectiveLaunch>(below(2));
    if (below(2)) region.priority = below(4);
  }
  return config;
}

}  // namespace hocket
