#pragma once

// From a step description and a configuration to what a simulation runs. Pure.

#include <cstdint>
#include <vector>

#include "core/overlap_bound.h"
#include "core/result.h"
#include "core/sim/simulation_run.h"
#include "core/step_description.h"

namespace hocket {

/// The tasks, costs and ranks of `step` under `config`, both valid; order=static is left to the
/// caller. invalid_argument when there would be too many parts or tasks to simulate.
Result<SimulationSetup> simulation_setup(const StepDescription& step, const ScheduleConfig& config);

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
