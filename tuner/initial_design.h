#pragma once

// Where a search looks before it has a model: the default, then points that fill the space.
// Immutable; thread-safe.

#include <cstdint>
#include <vector>

#include "tuner/space.h"

namespace hocket {

class InitialDesign {
 public:
  /// `space` must outlive this.
  InitialDesign(const Space& space, std::uint64_t seed);

  /// How many points to try before a model is asked: the default and at least four more.
  std::size_t size() const;

  /// The `index`-th point, for any index; 0 is the default. Always an allowed point; it may come
  /// twice where the space is coarse or its constraints exclude much.
  Params point(std::uint64_t index) const;

 private:
  const Space& space_;
  std::uint64_t seed_;
  /// Places in the Sobol sequence that the first points take: those that no constraint excludes.
  std::vector<std::uint64_t> places_;
};

}  // namespace hocket
