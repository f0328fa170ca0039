#pragma once

// Random step descriptions for tests: the same seed makes the same one.

#include <cstdint>
#include <random>
#include <string>

#include "core/step_description.h"

namespace hocket {

/// A chain of 1 to 12 layers; communication takes a whole number of nanoseconds a byte.
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

/// A graph of 1 to 20 tasks on 1 to 6 items.
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
      task.collective = kCollectiveKinds[random() % kCollectiveKinds.size()];
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

}  // namespace hocket
