#pragma once

// Grid search with increasing resolution: first the middle of every parameter, then all
// combinations of the two ends and the middle, then of five values, of nine, and so on. Within a
// level the seed shuffles the order, so that a search that ends early is not confined to one
// corner. Choices have no middle and are all included from the first level on.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_grid_search(Space space, std::uint64_t seed);

}  // namespace hocket
