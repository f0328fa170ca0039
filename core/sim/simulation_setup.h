#pragma once

// From a step description and a configuration to what a simulation runs. Pure.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/overlap_bound.h"
#include "core/result.h"
#include "core/sim/simulation_run.h"
#include "core/step_description.h"

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
/// to the caller. invalid_argument when there would be too many parts to simulate.
Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config);

/// `step` with streams, channels and bandwidth without end, no overhead and no jitter, on its
/// slowest rank: its period bounds every schedule's from below.
SimulationSetup unlimited_setup(const StepDescription& step);

/// What a step's tasks take, each alone, on the slowest rank.
struct SerialTimes {
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;  ///< bytes alone, without overhead
};
SerialTimes serial_times(const StepDescription& step);

/// The layers of the simple form as the overlap bound counts them, on the slowest rank.
std::vector<LayerCost> layer_costs(const StepDescription& step);

}  // namespace hocket
