#pragma once

// Uniform random search.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_random_search(Space space, std::uint64_t seed);

}  // namespace hocket
