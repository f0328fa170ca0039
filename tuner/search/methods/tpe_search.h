#pragma once

// The tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011, section 4), with the
// constants that Optuna made its defaults: 10 random settings first; the best min(⌈n / 10⌉, 25) of
// n trials count as good; 24 candidates are drawn from the density of the good ones, a parameter at
// a time, and the one whose ratio of good to bad density is highest is taken. A failed trial is a
// bad one.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_tpe_search(Space space, std::uint64_t seed);

}  // namespace hocket
