#pragma once

// Measures a simulated run once it is steady. Not thread-safe.

#include <cstdint>

#include "core/base/result.h"
#include "core/sim/simulation_run.h"
#include "core/sim/simulator.h"

namespace hocket {

/// Limit on iterations; a period that is not steady by then is averaged over the second half.
inline constexpr std::int64_t kMaxSteadyIterations = 64;

/// Runs at most `iterations` of `run` and returns their durations and the mean of the steady ones.
/// Stops once they are steady when `until_steady`. Leaves out the bound and the efficiency.
Result<Simulation> measure_steady_run(SimulationRun& run, std::int64_t iterations,
                                      bool until_steady);

}  // namespace hocket
