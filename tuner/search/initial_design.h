#pragma once

// Where a search looks before it has a model. Immutable; thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

class InitialDesign {
 public:
  virtual ~InitialDesign() = default;

  /// How many points to try before a model is asked; at least 1, the default.
  virtual std::size_t size() const = 0;

  /// The `index`-th point, for any index; 0 is the default. Always an allowed point; it may come
  /// twice where the space is coarse or its constraints exclude much.
  virtual Params point(std::uint64_t index) const = 0;

  /// Why that one, a few words.
  virtual std::string reason(std::uint64_t index) const = 0;
};

/// The default, then points of a Sobol sequence; `fillers` of those count for size(). `space` must
/// outlive it.
std::unique_ptr<InitialDesign> sobol_design(const Space& space, std::uint64_t seed,
                                            std::size_t fillers);

/// The default, then `replayed`, each for `reason`, then what `then` goes on with. All must be of
/// one space.
std::unique_ptr<InitialDesign> transferred_design(std::vector<Params> replayed, std::string reason,
                                                  std::unique_ptr<InitialDesign> then);

/// As many fillers as a model of nothing but the measurements needs: at least four.
std::size_t fillers_without_model(const Space& space);

}  // namespace hocket
