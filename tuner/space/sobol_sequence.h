#pragma once

// A shifted Sobol sequence: points that fill the unit cube evenly, reproducible by seed (Bratley
// and Fox, TOMS 659; Cranley and Patterson's random shift, SIAM J. Numer. Anal. 1976). Pure
// function; thread-safe.

#include <cstdint>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// Returns points `first`, `first` + 1, … of the sequence selected by `seed`; coordinates in [0,
/// 1).
std::vector<UnitPoint> sobol_points(std::size_t dimensions, std::uint64_t first, std::size_t count,
                                    std::uint64_t seed);

}  // namespace hocket
