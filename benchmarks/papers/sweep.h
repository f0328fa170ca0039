#pragma once

// Finds the best of a grid of partition and credit sizes on the simulator. Pure.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

inline constexpr std::int64_t MiB = 1 << 20;

/// Returns the predicted time of an iteration. `step` and `config` must be valid.
std::int64_t iteration_ns(const StepDescription& step, const ScheduleConfig& config);

/// Returns every partition size with credit for each number of parts, with the most urgent part
/// first.
std::vector<ScheduleConfig> partition_and_credit_grid(
    const std::vector<std::int64_t>& partitions_bytes,
    const std::vector<std::int64_t>& credit_parts);

struct Tuned {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;
};

/// Returns the first of the fastest `configs`, each run on `step_under(config)`.
Tuned fastest(const std::vector<ScheduleConfig>& configs,
              const std::function<StepDescription(const ScheduleConfig&)>& step_under);

}  // namespace hocket
