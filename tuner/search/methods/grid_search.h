#pragma once

// A grid that becomes finer: first the middle of every parameter, then all combinations of the two
// ends and the middle, then of five values, of nine, and so on. Within a level the order is
// shuffled by the seed, so that a search that ends early has not seen one corner alone. Choices
// have no middle and are all there from the first level on.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_grid_search(Space space, std::uint64_t seed);

}  // namespace hocket
