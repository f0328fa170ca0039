#pragma once

// Random factors on compute times. A draw is a function of the seed and of which task it is for,
// not of the order of events, so changing a schedule does not change the luck. Pure.

#include <cstdint>

#include "core/step/step_description.h"

namespace hocket {

/// Factor on the duration of task `index` of launch `launch` on `rank`; ≥ 0.
double jitter_factor(const Jitter& jitter, std::int64_t rank, std::int64_t launch,
                     std::uint32_t index);

}  // namespace hocket
