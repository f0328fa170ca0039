#include "tuner/initial_design.h"

#include <algorithm>

#include "tuner/sobol.h"

namespace hocket {

std::size_t InitialDesign::size() const {
  return 1 + std::max<std::size_t>(4, space_.parameters().size());
}

Params InitialDesign::point(std::uint64_t index) const {
  if (index == 0) return space_.defaults();
  return space_.decode(sobol_points(space_.parameters().size(), index - 1, 1, seed_).front());
}

}  // namespace hocket
