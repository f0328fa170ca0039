#pragma once

// Points that a search tries before it has a model. Immutable; thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

class InitialDesign {
 public:
  virtual ~InitialDesign() = default;

  /// Returns the number of points to try before a model is asked; at least 1, for the default.
  virtual std::size_t size() const = 0;

  /// Returns the `index`-th point, for any index; 0 is the default. The point is always allowed; it
  /// may repeat if the space is coarse or its constraints exclude much.
  virtual Params point(std::uint64_t index) const = 0;

  /// Returns why that point is tried, in a few words.
  virtual std::string reason(std::uint64_t index) const = 0;
};

/// Returns a design of the default, followed by points of a Sobol sequence; `fillers` of them count
/// for size(). `space` must outlive it.
std::unique_ptr<InitialDesign> sobol_design(const Space& space, std::uint64_t seed,
                                            std::size_t fillers);

/// Returns a design of the default, then the `replayed` settings, each with `reason`, then the
/// points of `then`. All must belong to one space.
std::unique_ptr<InitialDesign> transferred_design(std::vector<Params> replayed, std::string reason,
                                                  std::unique_ptr<InitialDesign> then);

/// Returns the number of fillers for a model that rests on measurements alone: at least four.
std::size_t fillers_without_model(const Space& space);

}  // namespace hocket
