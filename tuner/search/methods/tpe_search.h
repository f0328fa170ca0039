#pragma once

// The tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011, section 4), with Optuna's
// default constants: 10 random settings first; the best min(⌈n / 10⌉, 25) of n trials count as
// good; 24 candidates are drawn from the density of the good trials, one parameter at a time, and
// the candidate with the highest ratio of good to bad density is chosen. A failed trial counts as
// bad.

#include <cstdint>
#include <memory>

#include "tuner/search/search.h"

namespace hocket {

std::unique_ptr<Search> make_tpe_search(Space space, std::uint64_t seed);

}  // namespace hocket
