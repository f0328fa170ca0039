#pragma once

// From a step description and a configuration to what a simulation runs. Pure.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/sim/simulation_run.h"
#include "core/step/step_description.h"

namespace hocket {

/// What of a step is the same under every configuration.
struct StepLayout {
  StepDescription step;                    ///< in the general form
  std::vector<std::int64_t> durations_ns;  ///< by task; 0 for collectives
  std::shared_ptr<const CapturedStep> captured;
  std::vector<RankGroup> groups;
};

/// `step` must be valid. invalid_argument when there would be too many tasks to simulate.
Result<StepLayout> lay_out(const StepDescription& step);

/// The tasks, costs and ranks of a step under `config`, which must be valid; order=static is left
/// to the caller. The step is partitioned first where the configuration says so. invalid_argument
/// when it cannot be (core/partitioning/step_partition.h), or when there would be too many parts to
/// simulate.
Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config);

}  // namespace hocket
