#pragma once

// Random factors on compute times. A draw depends on the seed and the task it is for, not on the
// order of events, so all schedules see the same jitter. Pure.

#include <cstdint>

#include "core/description/step_description.h"

namespace hocket {

/// Returns the factor on the duration of task `index` of launch `launch` on `rank`; ≥ 0.
double jitter_factor(const Jitter& jitter, std::int64_t rank, std::int64_t launch,
                     std::uint32_t index);

}  // namespace hocket
