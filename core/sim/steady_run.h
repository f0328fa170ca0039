#pragma once

// What a simulated run tells when it has settled. Not thread-safe.

#include <cstdint>

#include "core/base/result.h"
#include "core/sim/simulation_run.h"
#include "core/sim/simulator.h"

namespace hocket {

/// A period that has not settled by then is averaged over the second half.
inline constexpr std::int64_t kMaxSteadyIterations = 64;

/// What at most so many `iterations` of `run` took, and the mean of the steady ones; ends once they
/// are steady when `until_steady`. The bound and the efficiency are left out.
Result<Simulation> measure(SimulationRun& run, std::int64_t iterations, bool until_steady);

}  // namespace hocket
