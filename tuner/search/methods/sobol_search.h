#pragma once

// Search over the points of a shifted Sobol sequence (tuner/space/sobol_sequence.h), in order: they
// fill the space evenly.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_sobol_search(Space space, std::uint64_t seed);

}  // namespace hocket
