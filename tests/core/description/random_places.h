#pragma once

// Random places of the data and tasks of a step description, for tests, reproducible by seed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "core/description/step_description.h"

namespace hocket {

/// Returns `step` with what placement needs to know, drawn at random for a general form: also data
/// that no task accesses but of which others are ranges.
inline StepDescription with_places(StepDescription step, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  if (step.programs.empty()) step.device_memory_bytes = below(2) * below(1 << 30);
  if (below(2)) step.to_device = {static_cast<double>(below(9000)), 0.25, 0};
  if (below(2)) step.to_host = {0, 0.5, static_cast<double>(below(9000))};
  for (StepTask& task : step.tasks) {
    if (task.collective || below(2)) continue;
    task.place.updates_layer = below(9) - 1;
    task.host_duration_ns = below(1'000'000);
  }
  if (step.data.empty() || below(2)) return step;
  const std::size_t accessed = step.data.size();
  for (std::int64_t i = below(3); i > 0; --i) step.data.push_back("whole " + std::to_string(i));
  step.data_places.resize(step.data.size());
  for (std::size_t i = 0; i < step.data.size(); ++i) {
    DataPlace& place = step.data_places[i];
    // Each whole that no task accesses has the first of the data as a range, or one after it.
    if (const std::size_t whole = accessed + i; i < accessed && whole < step.data.size()) {
      place.range_of = static_cast<std::uint32_t>(whole);
    } else if (below(3)) {
      place = {.bytes = below(1 << 30), .layer = below(5) - 1, .is_transient = below(2) == 1};
    }
  }
  // Without a range, nothing says that there are others.
  while (step.data.size() > 2 * accessed) {
    step.data.pop_back();
    step.data_places.pop_back();
  }
  const auto is_default = [](const DataPlace& place) { return place == DataPlace{}; };
  if (std::ranges::all_of(step.data_places, is_default)) step.data_places.clear();
  return step;
}

}  // namespace hocket
